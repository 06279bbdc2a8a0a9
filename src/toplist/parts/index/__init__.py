"""Indices: optimistic bounds, means or draws by which items are ranked."""

from toplist.parts.index.blind import Chance, ExploringDraw
from toplist.parts.index.determinant import DeterminantBound
from toplist.parts.index.ellipsoid import Ellipsoid
from toplist.parts.index.exposure import ExposureBound, ExposurePosterior
from toplist.parts.index.generalised import LogisticBound, Posterior
from toplist.parts.index.growing_posterior import GrowingPosterior
from toplist.parts.index.klucb import KLUCB
from toplist.parts.index.parsimonious import Parsimonious
from toplist.parts.index.per_count import MOSS, KLUCBPlusPlus
from toplist.parts.index.shared_draw import SharedGaussian
from toplist.parts.index.thompson import BetaPosterior
from toplist.parts.index.ucb1 import UCB1, Greedy
from toplist.parts.index.variance import VarianceBound

__all__ = [
    "KLUCB",
    "MOSS",
    "UCB1",
    "BetaPosterior",
    "Chance",
    "DeterminantBound",
    "Ellipsoid",
    "ExploringDraw",
    "ExposureBound",
    "ExposurePosterior",
    "Greedy",
    "GrowingPosterior",
    "KLUCBPlusPlus",
    "LogisticBound",
    "Parsimonious",
    "Posterior",
    "SharedGaussian",
    "VarianceBound",
]
