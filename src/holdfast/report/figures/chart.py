"""A drawing surface with axes. Its marks are dicts; the template escapes their text."""

import math
from dataclasses import dataclass, field


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, about ``about`` of them.

    Examples
    --------
    >>> ticks(0, 1), ticks(0, 2.3, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.5, 1.0, 1.5, 2.0])
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((1, 2, 5, 10), key=lambda each: abs(each * power - raw)) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) + 0.0 for k in range(first, last + 1)]


@dataclass
class Chart:
    """Marks in a box of ``width × height`` with room for axes, all in pixels.

    Attributes
    ----------
    width, height : float
    label : str
        Description for screen readers.
    left, right, top, bottom : float
        Margins around the plot.
    marks : list of dict
        ``kind`` is "path", "rect", "line" or "text"; ``cls`` its CSS classes, ``tip`` its tooltip.
    data : dict
        Written as data attributes, for the script.
    """

    width: float
    height: float
    label: str
    left: float = 46
    right: float = 12
    top: float = 14
    bottom: float = 42
    marks: list[dict] = field(default_factory=list)
    data: dict = field(default_factory=dict)

    def spans(self, x: tuple[float, float], y: tuple[float, float]) -> "Chart":
        """Set the ranges of values on the two axes."""
        self._x, self._y = x, y
        return self

    def x(self, value: float) -> float:
        """Pixels from the left edge to a value."""
        low, high = self._x
        return self.left + (value - low) / ((high - low) or 1.0) * (self.width - self.left - self.right)

    def y(self, value: float) -> float:
        """Pixels from the top edge to a value."""
        low, high = self._y
        inside = self.height - self.top - self.bottom
        return self.height - self.bottom - (value - low) / ((high - low) or 1.0) * inside

    def put(self, kind: str, cls: str, **attributes) -> None:
        """Add a mark; numbers are rounded to a tenth of a pixel."""
        attributes = {k: round(v, 1) if isinstance(v, float) else v for k, v in attributes.items()}
        self.marks.append({"kind": kind, "cls": cls, **attributes})

    def path(self, cls: str, points, close: bool = False, **attributes) -> None:
        """Add a line through points, given as values on the axes."""
        d, before = "", ("", "")
        for x, y in points:
            here = (f"{self.x(x):.1f}", f"{self.y(y):.1f}")
            if not d:
                d = f"M{here[0]} {here[1]}"
            elif here[1] == before[1]:
                d += f"H{here[0]}" if here[0] != before[0] else ""
            elif here[0] == before[0]:
                d += f"V{here[1]}"
            else:
                d += f"L{here[0]} {here[1]}"
            before = here
        self.put("path", cls, d=d + ("Z" if close else ""), **attributes)

    def text(self, cls: str, x: float, y: float, text: str, anchor: str = "middle", **more) -> None:
        """Add text, placed in pixels."""
        self.put("text", cls, x=float(x), y=float(y), text=text, anchor=anchor, **more)

    def axes(self, x_label: str, y_label: str, x_format=None, y_format=None, about: int = 5) -> None:
        """Add grid lines, numbers and names of the two axes."""
        x_format = x_format or (lambda value: f"{value:g}")
        y_format = y_format or x_format
        floor = self.height - self.bottom
        for value in ticks(*self._y, about=4):
            self.put("line", "grid", x1=self.left, x2=self.width - self.right, y1=self.y(value), y2=self.y(value))
            self.text("tick", self.left - 8, self.y(value) + 4, y_format(value), "end")
        for value in ticks(*self._x, about=about):
            self.put("line", "axis", x1=self.x(value), x2=self.x(value), y1=floor, y2=floor + 4)
            self.text("tick", self.x(value), floor + 17, x_format(value))
        self.put("line", "axis", x1=self.left, x2=self.width - self.right, y1=floor, y2=floor)
        self.text("name", (self.left + self.width - self.right) / 2, self.height - 5, x_label)
        if y_label:
            self.text("name", self.left - 8, self.top - 3 if self.top < 14 else self.top - 12, y_label, "end")
