"""`python -m deniable` is the command `deniable`."""

import sys

from deniable._command import main

if __name__ == "__main__":
    sys.exit(main())
