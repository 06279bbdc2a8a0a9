"""`python -m toplist` runs the command line."""

import sys

from toplist.cli import main

if __name__ == "__main__":
    sys.exit(main())
