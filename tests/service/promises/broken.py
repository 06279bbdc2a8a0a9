"""The errors of a promise that is not kept."""

from benchmarks.server import Broken, NoAnswer

__all__ = ["Broken", "NoAnswer"]
