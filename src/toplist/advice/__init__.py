"""Advice: which policy to use on the page of a click log, what it would earn, and a ranking ready to start."""

from toplist.advice.advise import AdviceProgress, advise
from toplist.advice.answer import Advice
from toplist.advice.drift import Drift, Moved
from toplist.advice.outcome import AdviceOutcome, CurveInterval
from toplist.advice.playing import Played
from toplist.advice.priors import priors_of_fit
from toplist.advice.ready import ReadyRanking, read_ready
from toplist.advice.situation import Situation
from toplist.advice.stacking import Stacking, stack

__all__ = [
    "Advice",
    "AdviceProgress",
    "Drift",
    "Moved",
    "CurveInterval",
    "AdviceOutcome",
    "Played",
    "ReadyRanking",
    "Situation",
    "Stacking",
    "advise",
    "priors_of_fit",
    "read_ready",
    "stack",
]
