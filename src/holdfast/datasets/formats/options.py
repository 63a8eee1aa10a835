"""Options for reading a file: encoding, decimal sign, missing values."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file; those that are None are found from its content.

    Attributes
    ----------
    encoding : str or None
        Of a text file: "utf-8", "latin-1", "utf-16".
    decimal, thousands : str or None
        The sign before decimals, and the one between thousands.
    missing : sequence of str
        Values that stand for a missing one, such as "-999".
    columns : sequence of str or None
        The columns whose numbers are read; others, which nobody needs, are left as they are. None: all.
    drop : sequence of str
        Columns that are left as they are, too.
    """

    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    missing: Sequence[str] = ()
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()

    def __post_init__(self):
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal must be a point or a comma; got {self.decimal!r}.")
        if self.thousands is not None and len(self.thousands) != 1:
            raise ValueError(f"thousands must be one sign; got {self.thousands!r}.")
        if self.decimal is not None and self.decimal == self.thousands:
            raise ValueError(f"decimal and thousands cannot both be {self.decimal!r}.")
        if self.encoding is not None:
            try:
                "".encode(self.encoding)
            except LookupError:
                raise ValueError(
                    f"There is no encoding {self.encoding!r}; try utf-8, latin-1, cp1252 or utf-16."
                ) from None
