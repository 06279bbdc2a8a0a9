"""Training: a policy learns from the lists of a click log that another system made."""

from toplist.training.train import train
from toplist.training.trained_rankers import TrainedRankers

__all__ = ["TrainedRankers", "train"]
