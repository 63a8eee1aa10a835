"""The report in a real browser: Debian's chromium, driven by playwright."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.auditing.explain import explain_rows
from holdfast.report import write_report
from tests.auditing.conftest import IMG, SCRIPT

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


def left_out(why: str):
    if os.environ.get("CI") == "true":
        pytest.fail(f"{why}; in CI the report must be opened in a browser.")
    pytest.skip(why)


@pytest.fixture(scope="module")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        left_out("chromium is not installed (apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        left_out("playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(hostile, tmp_path_factory) -> Path:
    """A report with hostile names; screenshots are left beside it."""
    folder = tmp_path_factory.mktemp("report")
    write_report(hostile, folder)
    return folder


@pytest.fixture
def page(browser, folder, request):
    options = getattr(request, "param", {})
    context = browser.new_context(viewport={"width": 1100, "height": 900}, **options)
    page = context.new_page()
    page.told, page.asked = [], []
    page.on("console", lambda message: page.told.append(message.text))
    page.on("pageerror", lambda error: page.told.append(str(error)))
    page.on("dialog", lambda dialog: page.told.append(dialog.message))
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.goto((folder / "report.html").as_uri())
    yield page
    assert page.told == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in page.asked if url.startswith("file:")]) == 1
    context.close()


def hover(page, chart, x: float, y: float):
    """Scroll there, let the scroll be heard of (it puts the note away), then point."""
    chart.scroll_into_view_if_needed()
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    chart.hover(position={"x": x, "y": y})
    note = page.locator("#tip")
    note.wait_for(state="visible", timeout=5000)
    return note


def test_marks_are_drawn(page):
    for selector in ("svg[data-curve] path.curve", "svg rect.bar", "svg[data-heat] path.cell", "svg circle.dot"):
        areas = page.locator(selector).evaluate_all(
            "marks => marks.map(m => m.getBoundingClientRect()).map(b => b.width * b.height)"
        )
        assert max(areas) > 1, selector


def test_the_slider_changes_the_numbers(page):
    kept = page.locator('[data-out="kept"]')
    before = kept.all_inner_texts()
    slider = page.get_by_label("Radius", exact=True)
    slider.focus()
    slider.press("End")
    far = kept.all_inner_texts()
    assert far != before
    assert all(float(text.split()[0]) < 10 for text in far)
    slider.press("Home")
    for text, clean in zip(kept.all_inner_texts(), page.locator('[data-out="clean"]').all_inner_texts(), strict=True):
        assert float(text.split()[0]) + float(clean.split()[0]) == pytest.approx(100)
    assert page.locator("#radius-value").inner_text() == "0"
    numbers = [float(t.split()[0]) for k in ("clean", "attacked", "certified")
               for t in [page.locator(f'[data-out="{k}"]').first.inner_text()]]  # fmt: skip
    assert numbers == sorted(numbers)


def test_hostile_names_stay_text(page):
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert page.locator("h1").inner_text() == SCRIPT + ".csv"
    assert page.locator("#features th[scope='row']", has_text=IMG).count() == 1
    note = hover(page, page.locator("svg[data-heat]").first, 170, 30)
    assert "%" in note.inner_text()
    assert note.locator("*").count() == 0  # text alone


def test_hover_tells_and_a_click_moves_the_slider(page):
    chart = page.locator(".wide svg[data-curve]")
    assert hover(page, chart, 600, 100).inner_text().startswith("radius ")
    before = page.locator("#radius-value").inner_text()
    chart.click(position={"x": 600, "y": 100})
    assert page.locator("#radius-value").inner_text() != before


def test_tables_sort(page):
    table = page.locator("table.classes")
    head = table.get_by_role("button", name="Certified")
    head.click()
    cells = table.locator("tbody tr td:nth-child(6)")
    falling = [float(each) for each in cells.evaluate_all("cells => cells.map(c => c.dataset.v)")]
    assert falling == sorted(falling, reverse=True)
    assert table.locator("th[aria-sort='descending']").count() == 1
    head.click()
    rising = [float(each) for each in cells.evaluate_all("cells => cells.map(c => c.dataset.v)")]
    assert rising == sorted(rising)


CONTRAST = """() => {
  const light = c => {
    const v = c.map(x => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; });
    return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const poor = [];
  for (const e of document.querySelectorAll("main *, header *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), inSvg = e instanceof SVGElement;
    const a = light(rgb(inSvg ? style.fill : style.color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) poor.push(e.tagName + "." + e.getAttribute("class") + " " + ratio.toFixed(2));
  }
  return [...new Set(poor)];
}"""


@pytest.mark.parametrize("page", [{"color_scheme": "light"}, {"color_scheme": "dark"}], indirect=True)
def test_contrast_and_the_toggle(page, folder):
    paper = "getComputedStyle(document.body).backgroundColor"
    scheme = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    page.screenshot(path=folder / f"{scheme}.png", full_page=True)
    seen = []
    for _ in range(3):
        assert page.evaluate(CONTRAST) == []
        seen.append(page.evaluate(paper))
        page.locator("#theme").click()
    assert seen[0] == seen[2] != seen[1]


def test_on_a_phone_nothing_runs_off_the_page(page, folder):
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".narrow svg[data-curve]").is_visible()
    assert not page.locator(".wide svg[data-curve]").is_visible()
    page.screenshot(path=folder / "phone.png", full_page=True)


def test_cards_on_a_phone_have_captions(page):
    page.set_viewport_size({"width": 390, "height": 800})
    for table in ("compare", "classes", "features"):
        cell = page.locator(f"table.{table} tbody tr").first.locator("td.num").last
        assert cell.is_visible()
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 390
        assert page.evaluate("e => getComputedStyle(e, '::before').content", cell.element_handle()) != "none"


def test_the_class_table_follows_the_slider(page):
    cells = page.locator("table.classes [data-kind='certified']")
    slider = page.get_by_label("Radius", exact=True)
    before = cells.all_inner_texts()
    slider.focus()
    slider.press("Home")
    assert page.locator("[data-out='radius']").inner_text() == "0"
    assert cells.all_inner_texts() == page.locator("table.classes [data-kind='accuracy']").all_inner_texts()
    slider.press("End")
    assert cells.all_inner_texts() != before


def test_the_theme_is_remembered(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(paper)
    page.locator("#theme").click()
    after = page.evaluate(paper)
    assert before != after
    page.reload()
    page.asked.pop()  # the same file again
    assert page.evaluate(paper) == after


def test_printed_headings_are_text(page):
    """Chromium leaves buttons out of headings that it repeats on the next page."""
    page.emulate_media(media="print")
    heads = page.locator("table.classes thead th")
    assert page.locator("button.sort:visible").count() == 0
    assert heads.first.inner_text().strip() == "Class"
    assert all(text.strip() for text in heads.all_inner_texts())


def test_it_prints(page, folder):
    page.pdf(path=folder / "report.pdf", format="A4")
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("page", [{"java_script_enabled": False}], indirect=True)
def test_it_reads_without_script(page):
    assert not page.locator("#radius").is_visible()
    assert "%" in page.locator('[data-out="kept"]').first.inner_text()
    assert page.locator("#features tbody tr").last.is_visible()


def test_rows_are_picked_in_what_would_have_to_change(browser, audit_result, tmp_path):
    explained = explain_rows(audit_result, 4, budget=50)
    write_report(replace(audit_result, explained=explained), tmp_path)
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto((tmp_path / "report.html").as_uri())
    shown = page.locator("#change-rows > .change-row:visible")
    titles = page.locator("#change-rows > .change-row h3").all_text_contents()
    assert len(titles) == page.locator("#change-row option").count() == 4
    assert shown.locator("h3").all_text_contents() == titles[:1]
    page.select_option("#change-row", "2")
    assert shown.locator("h3").all_text_contents() == titles[2:3]
    page.click("#change-after")
    assert shown.locator("h3").all_text_contents() == titles[3:]
    page.click("#change-after")  # round to the first
    assert shown.locator("h3").all_text_contents() == titles[:1]
    page.focus("#change-before")
    page.keyboard.press("Enter")  # by keyboard as well
    assert shown.locator("h3").all_text_contents() == titles[3:]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print")
    assert shown.count() == 1  # paper has the row that was picked, and no buttons
    assert not page.locator("#change-row").is_visible()
    page.close()
