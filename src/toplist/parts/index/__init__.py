"""Indices: optimistic bounds, means or draws by which items are ranked."""

from toplist.parts.index.blind import Chance, ExploringDraw
from toplist.parts.index.ellipsoid import Ellipsoid
from toplist.parts.index.exposure import ExposureBound, ExposurePosterior
from toplist.parts.index.generalised import LogisticBound, Posterior
from toplist.parts.index.klucb import KLUCB
from toplist.parts.index.thompson import BetaPosterior
from toplist.parts.index.ucb1 import UCB1, Greedy

__all__ = [
    "KLUCB",
    "UCB1",
    "BetaPosterior",
    "Chance",
    "Ellipsoid",
    "ExploringDraw",
    "ExposureBound",
    "ExposurePosterior",
    "Greedy",
    "LogisticBound",
    "Posterior",
]
