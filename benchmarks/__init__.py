"""How fast toplist is, compared with the best hand-written loops: `python -m benchmarks`."""

import os

# One core for every contender: NumPy's matrix products would use all of them. Read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
