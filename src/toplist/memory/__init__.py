"""What is kept of the past."""

from toplist.memory.counts import Counts, Everything
from toplist.memory.logistic import Logistic, LogisticSGD, Logit
from toplist.memory.ridge import Linear, Ridge
from toplist.memory.weights import ExponentialWeights

__all__ = ["Counts", "Everything", "ExponentialWeights", "Linear", "Logistic", "LogisticSGD", "Logit", "Ridge"]
