"""Hooks that Schemathesis loads at its start, so that a round terminates, and a short one soon.

Schemathesis gives Hypothesis a score for each request to maximise. Hypothesis was seen to climb for a quarter of an
hour without sending a single request.

Each valid request for a simulation starts a process, which takes most of the time of a short round.
"""

import os
from itertools import count
from typing import Any

import hypothesis
import schemathesis
from schemathesis.generation import GenerationMode

ONE_OF = int(os.environ.get("FUZZ_ONE_SIMULATION_OF", "1"))
_simulations = count()


def without_target(observation: float, **_: Any) -> float:
    """Replaces `hypothesis.target`: ignores the score."""
    return observation


hypothesis.target = without_target


@schemathesis.hook
def filter_case(_: Any, case: Any) -> bool:
    """Whether to send a request: of valid ones for a simulation that cover the schema, only one in some."""
    meta = case.meta
    if case.operation.path != "/v1/playground/simulations" or meta is None or meta.phase.name != "coverage":
        return True
    return meta.generation.mode != GenerationMode.POSITIVE or next(_simulations) % ONE_OF == 0
