"""The summary of an audit: how it is recognised, and which format of it this version shows."""

KIND = "holdfast audit"
FORMAT = 2


def check_summary(summary: dict) -> None:
    """Raise ``ValueError`` unless this is a summary this version can show."""
    if not isinstance(summary, dict) or summary.get("kind") != KIND:
        raise ValueError("This is not the summary of a holdfast audit: it is made by holdfast.audit.summarise.")
    if summary.get("format") != FORMAT:
        raise ValueError(
            f"The summary has format {summary.get('format')!r}, but this version of holdfast reads {FORMAT}: "
            "use the version that wrote it, or run the audit again."
        )


def units_of(summary: dict) -> str:
    """The units of the radii of a summary."""
    return summary["radius"].get("units", "standard deviations")
