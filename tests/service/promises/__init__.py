"""What `toplist serve` promises, and how each promise is put to the test: `python -m tests.service.promises --help`."""

import sys
from pathlib import Path

# The load comes from the benchmarks in the root of the repository, and two promises from the tests beside this folder.
HERE = Path(__file__).resolve()
for place in (HERE.parents[1], HERE.parents[3]):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
