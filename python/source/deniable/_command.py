"""The command `deniable`, which is installed with the package: all of it is in the extension module."""

from __future__ import annotations

import signal
import sys

from deniable import _deniable


def main() -> int:
    """Run the command that `sys.argv` asks for, and return its exit code."""
    # Python would keep Ctrl-C for itself until the command is over. From here on Ctrl-C ends the process, or does what the command decides.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _deniable.command(["deniable", *sys.argv[1:]])
