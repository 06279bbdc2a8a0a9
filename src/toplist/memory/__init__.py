"""What is kept of the past."""

from toplist.memory.counts import Counts, Everything
from toplist.memory.discounted import Discounted
from toplist.memory.exposure import Exposed, Exposure
from toplist.memory.forgetting_ridge import DiscountedRidge, WindowedRidge
from toplist.memory.logistic import Logistic, LogisticSGD, Logit
from toplist.memory.resetting import Resetting
from toplist.memory.ridge import Linear, Ridge
from toplist.memory.weights import ExponentialWeights
from toplist.memory.window import Window

__all__ = [
    "Counts",
    "Discounted",
    "DiscountedRidge",
    "Everything",
    "ExponentialWeights",
    "Exposed",
    "Exposure",
    "Linear",
    "Logistic",
    "LogisticSGD",
    "Logit",
    "Resetting",
    "Ridge",
    "Window",
    "WindowedRidge",
]
