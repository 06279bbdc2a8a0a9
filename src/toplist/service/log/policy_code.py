"""Which code of a policy its learners were made with: a fingerprint, which is kept with the settings of a ranking."""

from __future__ import annotations

import sys
from functools import lru_cache

from toplist.core.compiling import fingerprint
from toplist.policies.by_name import make

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"  # the fingerprint is of its byte code


@lru_cache(4096)
def policy_code(policy: str) -> str:
    """Python version and fingerprint of a policy, its parameters, and all code that it uses."""
    return f"{PYTHON}:{fingerprint(make(policy), with_version=False)}"


def code_warning(ranking: str, policy: str, code: str) -> str | None:
    """What to say if the code of a policy is not the one that the learners of a ranking were made with; else None."""
    now = policy_code(policy)
    if code in ("", now):
        return None
    return (
        f"The learners of the ranking {ranking!r} were made with other code of the policy {policy!r}: {code}, now "
        f"{now} (Python version and fingerprint). They go on as they are; change the ranking to its policy once more "
        f"to train new ones on the log."
    )
