"""Checks of a table before anything is trained: one small module per kind of finding, and the list of them."""

from collections.abc import Callable, Iterator, Sequence

from holdfast.datasets.checks.categories import check_categories, check_date_columns
from holdfast.datasets.checks.codes import check_codes
from holdfast.datasets.checks.duplicates import check_duplicates
from holdfast.datasets.checks.few_rows import check_few_rows
from holdfast.datasets.checks.finding import Finding as Finding
from holdfast.datasets.checks.finding import describe as describe
from holdfast.datasets.checks.finding import refuse_fatal as refuse_fatal
from holdfast.datasets.checks.identifiers import check_identifiers
from holdfast.datasets.checks.leaks import check_leaks
from holdfast.datasets.checks.precision import check_precision
from holdfast.datasets.checks.repair import Repairs as Repairs
from holdfast.datasets.checks.repair import repair as repair
from holdfast.datasets.checks.sentinels import check_sentinels
from holdfast.datasets.checks.small_classes import check_small_classes
from holdfast.datasets.checks.table_view import TableView
from holdfast.datasets.dataset import Dataset

#: All checks, in the order of their findings; those that refuse a table come first.
CHECKS: list[Callable[[TableView], Iterator[Finding]]] = [
    check_categories,
    check_date_columns,
    check_small_classes,
    check_sentinels,
    check_precision,
    check_identifiers,
    check_leaks,
    check_duplicates,
    check_codes,
    check_few_rows,
]


def check_dataset(dataset: Dataset, categorical: Sequence[str] = (), dates: Sequence[str] = ()) -> list[Finding]:
    """All findings about a data set.

    Parameters
    ----------
    dataset : Dataset
    categorical, dates : sequence of str
        Columns that the user has declared, about which there are no findings.

    Returns
    -------
    list of Finding
    """
    table = TableView(dataset.frame, dataset.labels, dataset.target_name, tuple(categorical), tuple(dates))
    findings = [finding for check in CHECKS for finding in check(table)]
    decided = {(f.column, f.fatal) for f in findings if f.fatal and f.column is not None}
    findings = [f for f in findings if f.fatal or (f.column, True) not in decided]  # one decision a column
    dropped = {f.column for f in findings if f.flag.startswith("--drop ")}
    return [f for f in findings if f.kind != "code" or f.column not in dropped]  # what is left out needs no other flag
