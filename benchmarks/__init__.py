"""How fast toplist is, beside the best loops that one would write by hand: `python -m benchmarks`."""

import os

# One core for everybody: NumPy's matrix products would take them all. Read once, when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
