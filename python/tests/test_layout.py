"""Modules of the package import one another one way."""

from __future__ import annotations

import ast
from pathlib import Path

import deniable

HOME = Path(deniable.__file__).parent


def imported(path: Path, modules: set[str]) -> set[str]:
    """What a module imports of the package, at once or later; what is for type checkers alone does not count."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(inside & modules or {node.module} & modules)
        if isinstance(node, ast.Import):
            found.update({alias.name for alias in node.names} & modules)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def test_no_module_imports_itself_by_a_detour() -> None:
    paths = {
        ".".join(["deniable", *path.relative_to(HOME).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in HOME.rglob("*.py")
    }
    left = {name: imported(path, set(paths)) for name, path in paths.items()}
    assert left["deniable.train.classifier"] >= {"deniable.train.tabular", "deniable._errors"}
    while left:
        last = {name for name, needed in left.items() if not needed & set(left)}
        assert last, f"a circle of imports among {sorted(left)}"
        left = {name: needed for name, needed in left.items() if name not in last}
