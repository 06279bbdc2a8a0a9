"""How good an item could be."""

from toplist.index.blind import Chance, ExploringDraw
from toplist.index.ellipsoid import Ellipsoid
from toplist.index.exposure import ExposureBound, ExposurePosterior
from toplist.index.generalised import LogisticBound, Posterior
from toplist.index.klucb import KLUCB
from toplist.index.thompson import BetaPosterior
from toplist.index.ucb1 import UCB1, Greedy

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
