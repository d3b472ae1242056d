"""The notebooks of python/examples run from their first cell to the last.

Each runs in a fresh interpreter in an empty folder, by plain Python: they have no magics. Cells with the tag ``peer:NAME`` are another library's. They are left out
first, since nothing of ours may depend on them, and then run where the library can be imported.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


def cells(notebook: Path) -> list[dict[str, Any]]:
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def peers(cell: dict[str, Any]) -> list[str]:
    return [tag.removeprefix("peer:") for tag in cell["metadata"].get("tags", []) if tag.startswith("peer:")]


@functools.cache
def why_not(peer: str) -> str | None:
    """Why cells of this library cannot run here. ``name[extra]`` asks for the very versions that the extra asks for as well."""
    name, _, extra = peer.removesuffix("]").partition("[")
    tried = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        return f"{name} cannot be imported: {tried.stderr.strip().splitlines()[-1]}"
    for needed in importlib.metadata.requires(name) or [] if extra else []:
        found = re.fullmatch(rf"(\S+?)==(\S+); extra == [\"']{extra}[\"']", needed)
        if found is None:
            continue
        try:
            installed = importlib.metadata.version(found[1])
        except importlib.metadata.PackageNotFoundError:
            installed = "none"
        if installed != found[2]:
            return f"{peer} needs {found[1]} {found[2]}, and {installed} is installed"
    return None


def run(notebook: Path, folder: Path, left_out: set[str]) -> None:
    chosen = [
        (number, "".join(cell["source"]))
        for number, cell in enumerate(cells(notebook), 1)
        if cell["cell_type"] == "code" and not left_out.intersection(peers(cell))
    ]
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(chosen),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{notebook.name}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def peers_of(notebook: Path) -> list[str]:
    return sorted({peer for cell in cells(notebook) for peer in peers(cell)})


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_runs_without_any_peer(notebook: Path, tmp_path: Path):
    run(notebook, tmp_path, set(peers_of(notebook)))


@pytest.mark.parametrize(
    ("notebook", "peer"),
    [(notebook, peer) for notebook in NOTEBOOKS for peer in peers_of(notebook)],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_a_notebook_runs_beside_its_peer(notebook: Path, peer: str, tmp_path: Path):
    reason = why_not(peer)
    if reason is not None:
        pytest.skip(reason)
    run(notebook, tmp_path, {other for other in peers_of(notebook) if why_not(other) is not None})


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_is_kept_without_what_it_showed(notebook: Path):
    code = [cell for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert notebook.stat().st_size < 20_000


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 9


def _execute(chosen: list[tuple[int, str]]) -> None:
    """Runs cells as a notebook does: in one namespace, and what the last line of each is worth is shown."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, source in chosen:
        where = f"cell {number}"
        print(f"--- {where}", flush=True)
        body = ast.parse(source, where).body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), where, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
            shown = getattr(value, "_repr_html_", None)
            assert shown is None or shown() is not None, where
            if value is not None:
                print(repr(value))


if __name__ == "__main__":
    _execute(json.load(sys.stdin))
