"""The Python in the documents runs: each page is one program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in [ROOT / "README.md", ROOT / "python/README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if BLOCK.search(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path):
    program = "\n".join(BLOCK.findall(page.read_text(encoding="utf-8")))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{page.name}\n{program}\n{done.stderr[-4000:]}"


def test_there_are_pages_with_python():
    assert {page.name for page in PAGES} >= {"python.md", "README.md"}
