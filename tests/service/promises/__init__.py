"""What `toplist serve` promises, and how each promise is put to the test: `python -m tests.service.promises --help`."""

import sys
from pathlib import Path

# The load comes from the benchmarks, which are not installed but stand in the root of the repository.
ROOT = Path(__file__).resolve().parents[3]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
