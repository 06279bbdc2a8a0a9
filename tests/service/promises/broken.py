"""The one error of a promise that is not kept."""

from benchmarks.server import Broken

__all__ = ["Broken"]
