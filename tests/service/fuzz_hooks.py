"""What Schemathesis loads before it begins, so that a round comes to an end.

It tells Hypothesis which requests were more welcome than others, and Hypothesis climbs from those. That was seen to go
on for a quarter of an hour without a single request.
"""

from typing import Any

import hypothesis


def not_told(observation: float, **_: Any) -> float:
    """In place of `hypothesis.target`: nothing is better than anything else."""
    return observation


hypothesis.target = not_told
