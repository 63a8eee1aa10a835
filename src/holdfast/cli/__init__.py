"""The command line: one file per command, each parses, calls one library function and prints."""

import sys


def main() -> None:
    """Run ``holdfast``; without its extra, say which one is missing."""
    try:
        from holdfast.cli.app import app
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        sys.exit(f"holdfast: the command line needs {missing.name}: pip install 'holdfast[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="holdfast")
