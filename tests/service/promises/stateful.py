"""Promise 6: list, click, duplicate, expire, remove, restart and be killed, in any order, beside a small model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
from hypothesis.stateful import run_state_machine_as_test
from running import BY_FEATURES, ELIMINATION, POLICIES
from service_machine import ServiceMachine

from .broken import Broken


class Counting(ServiceMachine):
    """Counts what is done."""

    counts: ClassVar[Counter[str]] = Counter()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        self.counts["steps"] += 1
        return super().do(work)

    def teardown(self) -> None:
        self.counts["histories"] += 1
        self.counts["impressions"] += len(getattr(self, "seen", ()))
        super().teardown()


def check(_: Path, examples: int, steps: int) -> str:
    """So many histories of so many steps, for each of three policies; what was met on the way."""
    Counting.counts.clear()
    chosen = hypothesis.settings(
        max_examples=examples, stateful_step_count=steps, derandomize=True, deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    for policy in (POLICIES[0], BY_FEATURES, ELIMINATION):
        try:
            run_state_machine_as_test(type("Steps", (Counting,), {"policy": policy}), settings=chosen)
        except AssertionError as found:
            raise Broken(f"{policy} does not do what the model does: {found}\n{found.__notes__}") from found
    counts = Counting.counts
    return (
        f"{counts['histories']} histories of three policies: {counts['steps']} calls, {counts['impressions']} "
        f"impressions, always as the model says; beliefs equal to a rebuild from the log"
    )
