"""Click logs: readers, click models fitted to a log, and their comparison."""

from toplist.logs.click_log import ClickLog
from toplist.logs.compare_models import FitProgress, fit
from toplist.logs.comparison.result import ModelComparison
from toplist.logs.describe import LogDescription, describe
from toplist.logs.fit_model import fit_model
from toplist.logs.fitted import FittedModel, Predictions
from toplist.logs.fitting.fit_data import prepare_log, prepare_parts
from toplist.logs.fitting.maximise import FitSettings
from toplist.logs.fitting.prior import Prior
from toplist.logs.id_table import IdTable
from toplist.logs.parameters import Parameters
from toplist.logs.pyclick import read_pyclick
from toplist.logs.read import LogScan, read_log, scan_log
from toplist.logs.report import Place, ReadReport, Skipped
from toplist.logs.sampling import sample_log, shuffled_lists
from toplist.logs.score_model import ModelScores, Scores, score_model

__all__ = [
    "ClickLog",
    "ModelScores",
    "FitProgress",
    "FittedModel",
    "IdTable",
    "LogDescription",
    "LogScan",
    "ModelComparison",
    "Parameters",
    "Place",
    "Predictions",
    "Prior",
    "ReadReport",
    "Scores",
    "FitSettings",
    "Skipped",
    "describe",
    "score_model",
    "fit",
    "fit_model",
    "prepare_log",
    "prepare_parts",
    "read_log",
    "read_pyclick",
    "sample_log",
    "scan_log",
    "shuffled_lists",
]
