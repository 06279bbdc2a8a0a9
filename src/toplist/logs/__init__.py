"""Click logs: readers, click models fitted to a log, and their comparison."""

from toplist.logs.click_log import ClickLog
from toplist.logs.compare_models import FitProgress, fit
from toplist.logs.comparison.result import ModelComparison
from toplist.logs.evaluate import Evaluation, Scores, evaluate
from toplist.logs.fit_model import fit_model
from toplist.logs.fitted import FittedModel, Parameters, Predictions
from toplist.logs.fitting.fit_data import prepare_log, prepare_parts
from toplist.logs.fitting.maximise import Settings
from toplist.logs.fitting.prior import Prior
from toplist.logs.id_table import IdTable

__all__ = [
    "ClickLog",
    "Evaluation",
    "FitProgress",
    "FittedModel",
    "IdTable",
    "ModelComparison",
    "Parameters",
    "Predictions",
    "Prior",
    "Scores",
    "Settings",
    "evaluate",
    "fit",
    "fit_model",
    "prepare_log",
    "prepare_parts",
]
