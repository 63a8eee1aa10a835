"""The HTML file and its siblings: escaped, well-formed, whole."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from holdfast.report import render_html, render_markdown, summarise, write_report
from tests.auditing.conftest import IMG, SCRIPT

VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """Elements in order, the text in each, and whether all that is opened is closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module", params=["audit_result", "hostile"])
def page(request):
    return Page(render_html(summarise(request.getfixturevalue(request.param))))


def test_every_element_is_closed(page):
    assert page.open == []


def test_headings_are_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_figures_and_tables_are_described(page):
    figures = page.all("svg")
    assert len(figures) >= 7
    assert all(each["role"] == "img" and len(each["aria-label"]) > 20 for each in figures)
    tables, captions = page.all("table"), page.all("caption")
    assert len(tables) == len(captions) >= 5
    assert all(each.get("scope") in ("col", "row") for each in page.all("th"))
    assert page.all("html")[0]["lang"] == "en"


def test_nothing_of_the_user_becomes_an_element(page):
    assert page.all("img") == []
    assert len(page.all("script")) == 2  # the data and the program
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert not any("src" in attributes for _, attributes in page.elements)
    assert {attributes["href"] for _, attributes in page.elements if "href" in attributes} == {"data:,"}


def test_hostile_names_are_shown_as_they_are(hostile):
    text = render_html(summarise(hostile))
    assert IMG not in text
    assert SCRIPT not in text
    assert "{{ 7*7 }}" in text  # not evaluated
    page = Page(text)
    assert IMG in page.text
    assert SCRIPT in page.text
    data = re.search(r'<script type="application/json" id="summary">(.*?)</script>', text, re.S).group(1)
    assert not set("<>&") & set(data)
    assert IMG in json.loads(data)["features"]


def test_the_policy_allows_exactly_this_script(audit_result):
    import base64
    import hashlib

    text = render_html(summarise(audit_result))
    script = re.search(r"<script>(.*?)</script>", text, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(m for m in Page(text).all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert f"script-src 'sha256-{digest}'" in policy["content"]
    assert "default-src 'none'" in policy["content"]


def test_markdown_has_no_marks_of_the_users(hostile):
    text = render_markdown(summarise(hostile))
    assert "<" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_small_and_offline(audit_result):
    text = render_html(summarise(audit_result))
    assert len(text.encode()) < 300_000
    assert not re.search(r"https?://|@import|url\(", text)


def test_written_whole_and_made_again_from_json(audit_result, tmp_path):
    paths = write_report(audit_result, tmp_path / "new" / "folder")
    assert sorted(paths) == ["html", "json", "md"]
    assert sorted(p.name for p in (tmp_path / "new" / "folder").iterdir()) == [
        "report.html",
        "report.json",
        "report.md",
    ]
    summary = json.loads(paths["json"].read_text(encoding="utf-8"))
    assert render_html(summary) == paths["html"].read_text(encoding="utf-8")
    assert render_markdown(summary) == paths["md"].read_text(encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"report\.html is already there.*force=True"):
        write_report(audit_result, tmp_path / "new" / "folder")
    write_report(summary, tmp_path / "new" / "folder", force=True)


def test_a_failure_leaves_nothing(audit_result, tmp_path, monkeypatch):
    import holdfast.report.html as write

    def interrupted(summary):
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "render_markdown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(audit_result, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrong", [{}, {"kind": "else"}, {"kind": "holdfast audit", "format": 99}, []])
def test_other_summaries_are_refused(wrong):
    with pytest.raises(ValueError, match="holdfast"):
        render_html(wrong)


def test_without_jinja_the_extra_is_named(audit_result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"holdfast\[report\]"):
        render_html(summarise(audit_result))


def test_the_names_of_families_are_explained_and_short_times_left_out(audit_result):
    summary = summarise(audit_result)
    models = [{**model, "method": "PNCA-PL (chosen)"} for model in summary["models"][:1]] + summary["models"][1:]
    key = models[0]["key"]
    html = render_html({**summary, "models": models, "seconds": {"read": 5e-6, f"train {key}": 12.34}})
    assert "a few learned points stand for each class" in html
    assert "5e-06" not in html
    assert ">train PNCA-PL (chosen)<" in html
    assert ">12.3<" in html
