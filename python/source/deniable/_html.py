"""How an answer looks in a notebook: a table, whiskers for intervals, what it cost and what is left.

Everything is inline and inert: names and values are escaped, there is no script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deniable._answer import escape

if TYPE_CHECKING:
    from deniable._answer import Answer

_ROWS_SHOWN = 50
_WIDTH = 160


def answer_html(answer: Answer) -> str:
    """The answer as one piece of HTML."""
    told, names = answer.to_dict(), answer._names
    columns = list(zip(names, answer.columns))
    spans = {name: _span(told["rows"], name) for name, column in columns if column["noisy"]}
    head = "".join(
        f"<th style='text-align:left'>{escape(name)}</th>"
        + (f"<th>{answer.confidence:.0%} interval</th>" if spans.get(name) else "")
        for name in names
    )
    body = []
    for row in told["rows"][:_ROWS_SHOWN]:
        cells = []
        for name, _ in columns:
            cell = row[name]
            cells.append(f"<td style='text-align:left'>{escape(_value(cell['value']))}</td>")
            if spans.get(name):
                cells.append(f"<td>{_whiskers(cell, spans[name])}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    more = len(told["rows"]) - _ROWS_SHOWN
    below = [f"… and {more} more rows"] if more > 0 else []
    below += [answer._cost_words(), *told["notes"]]
    lines = "".join(f"<div>{escape(line)}</div>" for line in below)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table><div style='opacity:.75'>{lines}</div>"


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
    """A dot with a line from end to end."""
    low, high, value = cell.get("low"), cell.get("high"), cell["value"]
    if low is None or high is None or value is None:
        return ""
    least, most = span
    at = lambda number: 4 + (_WIDTH - 8) * (float(number) - least) / (most - least)  # noqa: E731
    words = f"{low:,.6g} to {high:,.6g}"
    return (
        f"<svg width='{_WIDTH}' height='14' role='img'><title>{escape(words)}</title>"
        f"<line x1='{at(low):.1f}' x2='{at(high):.1f}' y1='7' y2='7' stroke='currentColor'/>"
        f"<line x1='{at(low):.1f}' x2='{at(low):.1f}' y1='3' y2='11' stroke='currentColor'/>"
        f"<line x1='{at(high):.1f}' x2='{at(high):.1f}' y1='3' y2='11' stroke='currentColor'/>"
        f"<circle cx='{at(value):.1f}' cy='7' r='3' fill='currentColor'/></svg>"
    )
