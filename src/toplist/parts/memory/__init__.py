"""Memories: how observations are stored, and for how long."""

from toplist.parts.memory.counts import Counts, Everything
from toplist.parts.memory.discounted import Discounted
from toplist.parts.memory.exposure import Exposed, Exposure
from toplist.parts.memory.forgetting_ridge import DiscountedRidge, WindowedRidge
from toplist.parts.memory.logistic import Logistic, LogisticSGD
from toplist.parts.memory.logit import Logit
from toplist.parts.memory.position_ridge import PositionRidge
from toplist.parts.memory.positions import PerPosition, Positioned
from toplist.parts.memory.resetting import Resetting
from toplist.parts.memory.ridge import Linear, Ridge
from toplist.parts.memory.weights import ExponentialWeights
from toplist.parts.memory.window import Window

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
    "PerPosition",
    "PositionRidge",
    "Positioned",
    "Resetting",
    "Ridge",
    "Window",
    "WindowedRidge",
]
