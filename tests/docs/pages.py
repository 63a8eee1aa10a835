"""The pages people read, and the blocks in them that can be run."""

import re
import shlex
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^( *)```(python|console)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)


def written_pages() -> list[Path]:
    """Every page of the site that somebody wrote; made ones (gallery, builds) are left out."""
    made = {"_build", "gallery", "generated"}
    return sorted(page for page in DOCS.rglob("*.md") if not made & set(page.relative_to(DOCS).parts))


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Kind ("python" or "console"), text and first line of each fenced block, in order."""
    text = page.read_text(encoding="utf-8")
    return [(m[2], dedent(m[3]), text.count("\n", 0, m.start(3)) + 1) for m in _FENCE.finditer(text)]


def commands(block: str) -> list[list[str]]:
    """What stands behind each ``$``, split as a shell splits it; lines may be continued by a backslash."""
    return [shlex.split(m[1].replace("\\\n", " "), comments=True) for m in _COMMAND.finditer(block)]


def run_page(page: Path) -> None:
    """Run the blocks of a page one after the other in one namespace, in the present folder."""
    namespace: dict = {"__name__": "__main__"}
    for kind, text, line in blocks(page):
        if kind == "python":
            # The empty lines make a traceback name the line of the page.
            exec(compile("\n" * (line - 1) + text, str(page), "exec"), namespace)
            continue
        for command in commands(text):
            assert command[0] == "holdfast", f"{page.name}, line {line}: only holdfast can be run, not {command[0]}"
            run_command(command[1:])


def missing_targets(page: Path) -> list[str]:
    """Relative links of a page, blocks aside, that lead nowhere."""
    text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [target for target in _LINK.findall(text) if not (page.parent / target).exists()]


def run_command(arguments: list[str]) -> None:
    """Run ``holdfast`` in this process, which has its packages loaded; tests/cli runs the program itself.

    Audits explain two rows and tune with two draws, unless they say otherwise: each takes as long as the audit.
    """
    from typer.testing import CliRunner

    from holdfast.cli.app import app

    if arguments[0] == "audit":
        arguments = ["audit", "--explain", "2", "--draws", "2", *arguments[1:]]  # what stands later counts
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, f"holdfast {shlex.join(arguments)}:\n{done.output}"
