"""The named data sets: content, size and origin of each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A named data set, as it must be when it is read.

    Attributes
    ----------
    about : str
    shape : tuple (n_rows, n_features)
    counts : tuple of int
        Rows of each class, largest first; checked when the set is read.
    builtin : str or None
        scikit-learn's function that loads it.
    openml : int or None
        Number of the set at OpenML; None if no copy there is known to agree.
    missing : float or None
        Replaces missing values; None leaves them missing.
    complete : bool
        Leave out rows with a missing value.
    keep : tuple of str
        The classes that are kept, if not all.
    codes : dict
        Numbers for the words in OpenML's copy.
    file : str or None
        Name of the local file, if it is not that of the set.
    note : str
    paper : bool
        True for the paper's 16 sets.
    """

    about: str
    shape: tuple[int, int]
    counts: tuple[int, ...]
    builtin: str | None = None
    openml: int | None = None
    missing: float | None = None
    complete: bool = False
    keep: tuple[str, ...] = ()
    codes: tuple[tuple[str, float], ...] = ()
    file: str | None = None
    note: str = ""
    paper: bool = True


_DIGITS = (7877, 7293, 7141, 6990, 6958, 6903, 6876, 6825, 6824, 6313)
_DIGITS_2K2K = (454, 431, 429, 417, 404, 398, 378, 366, 364, 359)
_LETTERS: tuple[int, ...] = (
    813,
    805,
    803,
    796,
    792,
    789,
    787,
    786,
    783,
    783,
    775,
    773,
    768,
    766,
    764,
    761,
    758,
    755,
    753,
    752,
)
_LETTERS += (748, 747, 739, 736, 734, 734)
_YES_NO = (("y", 1.0), ("n", 0.0))
_KEEL = "X is as KEEL ships it, with decimal points lost; the paper's numbers rest on these values."
_PART = "9,000 of the 60,000 training rows and no test rows: a set of its own, not comparable with the full one."

#: name -> entry; the first 16 are the paper's.
CATALOGUE: dict[str, Entry] = {
    "australian": Entry("credit approval", (690, 14), (383, 307), openml=40981),
    "breast_cancer": Entry("cells under a microscope", (683, 9), (444, 239), openml=15, complete=True),
    "ecoli": Entry("where a protein is, 2-3-5-6 against the rest", (336, 7), (307, 29), note=_KEEL),
    "fourclass": Entry("two irregular classes in the plane", (862, 2), (555, 307)),
    "haberman": Entry("survival after surgery", (306, 3), (225, 81), openml=43),
    "iris": Entry("flowers", (150, 4), (50, 50, 50), builtin="load_iris", openml=61),
    "segment": Entry("patches of outdoor images", (2310, 19), (330,) * 7, openml=36),
    "sonar": Entry("mine or rock", (208, 60), (111, 97), openml=40),
    "voting": Entry(
        "party from 16 votes",
        (435, 16),
        (267, 168),
        openml=56,
        missing=0.5,
        codes=_YES_NO,
        note="A vote that was not recorded is 0.5, between no (0) and yes (1).",
    ),
    "wdbc": Entry("breast cancer, 30 measurements", (569, 30), (357, 212), "load_breast_cancer", openml=1510),
    "wine": Entry("chemistry of three wines", (178, 13), (71, 59, 48), builtin="load_wine", openml=187),
    "yeast": Entry("where a protein is, CYT or POX", (483, 8), (463, 20), openml=181, keep=("CYT", "POX")),
    "credit": Entry("default of card payments", (30000, 23), (23364, 6636), openml=42477),
    "isolet": Entry("spoken letters", (7797, 617), (300,) * 24 + (299, 298), openml=300),
    "mnist_2k2k": Entry("4,000 handwritten digits", (4000, 784), _DIGITS_2K2K),
    "aps": Entry("failure of truck brakes", (9000, 170), (8827, 173), file="aps_partial9000", note=_PART),
    "digits": Entry(
        "8 × 8 digits", (1797, 64), (183, 182, 182, 181, 181, 180, 179, 178, 177, 174), "load_digits", paper=False
    ),
    "letter": Entry("printed letters", (20000, 16), _LETTERS, openml=6, paper=False),
    "pendigits": Entry(
        "pen strokes",
        (10992, 16),
        (1144, 1144, 1143, 1143, 1142, 1056, 1055, 1055, 1055, 1055),
        openml=32,
        paper=False,
    ),
    "satimage": Entry("satellite image", (6435, 36), (1533, 1508, 1358, 707, 703, 626), paper=False),
    "optdigits": Entry(
        "scanned digits", (5620, 64), (572, 571, 568, 566, 562, 558, 558, 557, 554, 554), openml=28, paper=False
    ),
    "usps": Entry(
        "digits on envelopes",
        (9298, 256),
        (1553, 1269, 929, 852, 834, 824, 821, 792, 716, 708),
        openml=41082,
        paper=False,
    ),
    "fashion_mnist": Entry("pictures of clothes", (70000, 784), (7000,) * 10, openml=40996, paper=False),
    "mnist": Entry("handwritten digits", (70000, 784), _DIGITS, openml=554, paper=False),
}
