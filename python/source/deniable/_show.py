"""How results and progress are shown."""

from __future__ import annotations

import sys
import time
from typing import Any

_CELL = "padding:0.15em 0.8em;text-align:left"


def escaped(text: Any) -> str:
    """Text that is safe within HTML."""
    import html

    return html.escape(str(text))


def number(value: float, digits: int = 4) -> str:
    """A number for people."""
    return f"{value:.{digits}g}"


def table(title: str, rows: list[tuple[Any, Any]], note: str = "") -> str:
    """A heading and lines of a name and a value."""
    lines = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escaped(name)}</th><td style="{_CELL}">{escaped(value)}</td></tr>'
        for name, value in rows
    )
    after = f"<p>{escaped(note)}</p>" if note else ""
    return f"<div><p><strong>{escaped(title)}</strong></p><table>{lines}</table>{after}</div>"


def grid(title: str, header: list[str], rows: list[list[Any]], note: str = "") -> str:
    """A heading and a table; a cell that begins with `<svg` is drawn as it is."""

    def cell(value: Any) -> str:
        text = value if isinstance(value, str) and value.startswith("<svg ") else escaped(value)
        return f'<td style="{_CELL}">{text}</td>'

    head = "".join(f'<th scope="col" style="{_CELL}">{escaped(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(cell(value) for value in row)}</tr>" for row in rows)
    after = f"<p>{escaped(note)}</p>" if note else ""
    return (
        f"<div><p><strong>{escaped(title)}</strong></p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{after}</div>"
    )


def whisker(middle: float, low: float, high: float) -> str:
    """An interval within 0 and 1, drawn."""

    def place(value: float) -> str:
        return f"{2 + 116 * min(max(value, 0.0), 1.0):.1f}"

    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="14" role="img" aria-label="interval">'
        '<line x1="2" x2="118" y1="7" y2="7" stroke="currentColor" stroke-opacity="0.2"/>'
        f'<line x1="{place(low)}" x2="{place(high)}" y1="7" y2="7" stroke="currentColor" stroke-width="3" '
        f'stroke-opacity="0.5"/><circle cx="{place(middle)}" cy="7" r="3.5" fill="currentColor"/></svg>'
    )


class Progress:
    """A bar on standard error, once something takes longer than a second.

    Without being told, it shows where somebody can see it: in a terminal and in a notebook.
    """

    def __init__(self, label: str, show: bool | None = None) -> None:
        self._label = label
        self._start = time.monotonic()
        self._last = 0.0
        self._drawn = False
        if show is None:
            show = "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())
        self._show = show

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not self._show or now - self._start < 1.0 or now - self._last < 0.1:
            return
        self._last = now
        share = min(done / total, 1.0) if total else 0.0
        bar = ("█" * round(30 * share)).ljust(30)
        sys.stderr.write(f"\r{self._label} ▕{bar}▏ {100 * share:3.0f} %")
        sys.stderr.flush()
        self._drawn = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * (len(self._label) + 40) + "\r")
            sys.stderr.flush()
