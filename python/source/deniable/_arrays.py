"""NumPy, if the caller has it. The package itself does not need it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def numpy() -> Any:
    """The module, or None."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy
