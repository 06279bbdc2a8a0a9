"""A service under attack, with honest traffic beside it: `python -m tests.service.soak --help`."""

import sys
from pathlib import Path

# The connections and the server come from the benchmarks in the root of the repository, the audit from the promises.
HERE = Path(__file__).resolve()
for place in (HERE.parents[1], HERE.parents[3]):
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
