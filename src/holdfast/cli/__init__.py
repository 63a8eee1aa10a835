"""The command line: one file per command; each parses, calls one library function and prints.

Nothing is imported here before ``main`` runs, because Ctrl-C cannot be answered before.
"""


def main() -> None:
    """Run ``holdfast``; if its extra is not installed, say so."""
    import sys
    from importlib.util import find_spec

    from holdfast.cli.options import INTERRUPTED, stops_at_once

    try:
        with stops_at_once():
            for needed in ("typer", "rich"):
                if find_spec(needed) is None:
                    sys.exit(f"holdfast: the command line needs {needed}: pip install 'holdfast[cli]'")
            from holdfast.cli.app import run
        sys.exit(run())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
