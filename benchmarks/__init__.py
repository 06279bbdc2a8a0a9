"""How fast toplist is, beside the best loops that one would write by hand: `python -m benchmarks`."""
