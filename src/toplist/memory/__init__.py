"""What is kept of the past."""

from toplist.memory.counts import Counts, Everything
from toplist.memory.weights import ExponentialWeights

__all__ = ["Counts", "Everything", "ExponentialWeights"]
