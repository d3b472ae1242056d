"""A dummy of tables on a server, from what the server declares about them."""

from __future__ import annotations

from typing import Any

from deniable._deniable import LocalDataset
from deniable._numbers import decimal_text
from deniable._toml import constant, text, whole

_KINDS = {
    "boolean": "bool",
    "integer": "int",
    "float": "float",
    "text": "text",
    "date": "date",
    "timestamp": "timestamp",
}


def dummy_of(declared: dict[str, Any]) -> LocalDataset:
    """Invented rows for all private tables. Public ones are left out: their rows are not declared."""
    whose = declared["unit"].split(" ")[0]
    lines = [
        f"name = {text(declared['dataset'])}",
        "[unit]",
        f"whose = {text(whose)}",
        "[budget]",
        "epsilon = 1",
        'delta = "1e-6"',
        "[limits]",
        "groups = 1",
        "rows_per_group = 1",
    ]
    for table in declared["tables"]:
        if not table["private"]:
            continue
        lines += [f"[tables.{text(table['name'])}]", 'source = "memory"']
        if table["unit"] is None:
            lines.append("each_row = true")
        else:
            lines.append(f"unit = {text(table['unit'])}")
            if table["rows_per_unit"] is not None:
                lines.append(f"rows_per_unit = {whole(table['rows_per_unit'], 'rows_per_unit')}")
        lines.append(f"[tables.{text(table['name'])}.columns]")
        for column in table["columns"]:
            kind = _KINDS[column["type"]]
            facts = [f"kind = {text(kind)}", f"nullable = {'true' if column['nullable'] else 'false'}"]
            if column["bounds"] is not None:
                # A server's words are untrusted text: a bound that is no number could be anything else in the catalog.
                number = kind in ("int", "float")
                ends = [decimal_text(end, "a bound") if number else text(end) for end in column["bounds"]]
                facts.append(f"bounds = [{', '.join(ends)}]")
            if column["values"] is not None:
                facts.append(f"values = [{', '.join(constant(value) for value in column['values'])}]")
            lines.append(f"{text(column['name'])} = {{ {', '.join(facts)} }}")
    return LocalDataset.of_tables("\n".join(lines) + "\n", [], None, "me").dummy()
