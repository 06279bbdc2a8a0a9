"""`python -m toplist.cli` is `toplist`."""

import sys

from toplist.cli import main

if __name__ == "__main__":
    sys.exit(main())
