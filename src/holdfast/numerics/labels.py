"""Labels as users write them, against the classes of a model."""

import numpy as np


def class_codes(labels, classes) -> tuple[np.ndarray, list]:
    """The place of each label among the classes, −1 for none; and the labels that are none of them, each once.

    A label that is written as a class is that class. Else numbers are compared by value, also where they are words or
    true and false: 1, 1.0, True and "1" are one label, but "01" is another. A value that two classes share ("1" and
    "1.0") belongs to neither.
    """
    written = {str(_plain(label)): code for code, label in enumerate(classes)}
    by_value: dict[str, int] = {}
    for code, label in enumerate(classes):
        by_value[_value(label)] = -1 if _value(label) in by_value else code
    found: dict[str, int] = {}
    strange = {}
    codes = np.empty(len(labels), dtype=np.int64)
    for i, label in enumerate(labels):
        word = str(_plain(label))
        if word not in found:
            found[word] = written.get(word, by_value.get(_value(label), -1))
            if found[word] < 0:
                strange[word] = _plain(label)
        codes[i] = found[word]
    return codes, list(strange.values())


def _plain(label):
    return label.item() if isinstance(label, np.generic) else label


def _value(label) -> str:
    """The number that a label is, or is written as, in one way for each value; other words as they are."""
    label = _plain(label)
    if isinstance(label, int):  # True and False are 1 and 0
        return str(int(label))
    try:
        number = float(label)
    except (TypeError, ValueError, OverflowError):
        return str(label)
    if isinstance(label, str) and label not in (f"{number:.0f}", f"{number:.1f}", repr(number)):
        return label  # such as 01, 1_000 or nan
    return str(int(number)) if number.is_integer() else repr(number)
