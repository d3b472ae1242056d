"""How results look in a notebook: tables, intervals as whiskers, lines of text.

Everything is inline and inert: names and values are escaped, there is no script.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from deniable._answer import Answer

ROWS_SHOWN = 50

_CELL = "padding:0.15em 0.8em;text-align:left"
_WIDTH, _EDGE = 160, 4


class Drawn(str):
    """A piece of HTML that was made here, and so is not escaped. What callers name never is one."""


def escape(text: object) -> str:
    """Text that is inert in HTML.

    >>> escape('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    import html

    return html.escape(str(text), quote=True)


def lines(texts: Iterable[object]) -> str:
    """Lines of text, one below the other."""
    return "".join(f"<div>{escape(text)}</div>" for text in texts)


def table(title: str, rows: Sequence[tuple[Any, Any]]) -> str:
    """A heading and lines of a name and a value."""
    body = "".join(
        f'<tr><th scope="row" style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<div>{_heading(title)}<table>{body}</table></div>"


def grid(title: str, header: Iterable[str], rows: Iterable[Iterable[Any]], notes: Iterable[str] = ()) -> str:
    """A heading, if there is one, a table with a name above each column, and notes below."""

    def cell(value: Any) -> str:
        return f'<td style="{_CELL}">{value if isinstance(value, Drawn) else escape(value)}</td>'

    head = "".join(f'<th scope="col" style="{_CELL}">{escape(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(cell(value) for value in row)}</tr>" for row in rows)
    return (
        f"<div>{_heading(title)}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f'<div style="opacity:.75">{lines(notes)}</div></div>'
    )


def _heading(title: str) -> str:
    return f"<p><strong>{escape(title)}</strong></p>" if title else ""


def whisker(middle: float, low: float, high: float, span: tuple[float, float] = (0.0, 1.0)) -> Drawn:
    """A dot with a line from end to end, on an axis from one end of ``span`` to the other. What is beyond is at its edge."""
    least, most = span

    def at(number: float) -> str:
        share = (float(number) - least) / (most - least)
        return f"{_EDGE + (_WIDTH - 2 * _EDGE) * min(max(share, 0.0), 1.0):.1f}"

    def line(start: str, end: str, top: int, bottom: int) -> str:
        return f'<line x1="{start}" x2="{end}" y1="{top}" y2="{bottom}" stroke="currentColor"/>'

    return Drawn(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="14" role="img">'
        f"<title>{escape(f'{low:,.6g} to {high:,.6g}')}</title>"
        f"{line(at(low), at(high), 7, 7)}{line(at(low), at(low), 3, 11)}{line(at(high), at(high), 3, 11)}"
        f'<circle cx="{at(middle)}" cy="7" r="3" fill="currentColor"/></svg>'
    )


def answer_html(answer: Answer) -> str:
    """An answer: its rows, a column of whiskers beside each that has intervals, what it cost and what is left."""
    told, names = answer.to_dict(), answer._names
    spans = {name: _span(told["rows"], name) for name, column in zip(names, answer.columns) if column["noisy"]}
    header: list[str] = []
    for name in names:
        header += [name, f"{answer.confidence:.0%} interval"] if spans.get(name) else [name]
    rows = []
    for row in told["rows"][:ROWS_SHOWN]:
        cells: list[Any] = []
        for name in names:
            cells.append(_value(row[name]["value"]))
            span = spans.get(name)
            if span:
                cells.append(_whiskers(row[name], span))
        rows.append(cells)
    more = len(told["rows"]) - ROWS_SHOWN
    below = [f"… and {more} more rows"] if more > 0 else []
    return grid("", header, rows, [*below, answer._cost_words(), *told["notes"]])


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _span(rows: list[dict[str, Any]], name: str) -> tuple[float, float] | None:
    """The least and largest end of the column's intervals, with 0 inside where it is near."""
    ends = [row[name][end] for row in rows for end in ("low", "high") if row[name].get(end) is not None]
    if not ends:
        return None
    low, high = min(ends), max(ends)
    if 0 < low < (high - low) * 2:
        low = 0
    return (low, high) if high > low else (low - 1, high + 1)


def _whiskers(cell: dict[str, Any], span: tuple[float, float]) -> str:
    low, high, value = cell.get("low"), cell.get("high"), cell["value"]
    return "" if low is None or high is None or value is None else whisker(value, low, high, span)
