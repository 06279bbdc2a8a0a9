"""Parts of your own that cannot play on a GPU: a sentence says why, before anything is played."""

from typing import Any

import numpy as np
import pytest
from host_device import install_stand_ins
from without_device import CompilingDevice

import toplist
from toplist.clicks import Cascade
from toplist.core.compiling import DoesNotCompile
from toplist.core.slate import Floats, Ints, Page, Slate
from toplist.parts import UCB1, Everything, ThroughLastClick
from toplist.policies import Policy

PARTS = (ThroughLastClick(), Everything(), UCB1())


class Allocating(Policy):
    __slots__ = ()

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        slate.items[0] = int(np.zeros(3).sum())


class Sorting(Policy):
    __slots__ = ()

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        slate.items.sort()


class Ordering(Policy):
    __slots__ = ()

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        slate.items[0] = np.argsort(slate.items)[0]


class Opening(Policy):
    __slots__ = ()

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        with open("file") as file:
            belief.clock[0] = len(file.read())


class AllocatingUsers(Cascade):
    __slots__ = ()

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        return int(np.zeros(3).sum())


REASONS: list[tuple[Any, Any, str]] = [
    (Allocating(*PARTS), "cascade", r"Allocating: Allocating does not compile: it allocates; .* arrays in scratch\(\)"),
    (Sorting(*PARTS), "cascade", r"Sorting: Sorting does not compile: No definition for lowering array\.sort .*"),
    (Ordering(*PARTS), "cascade", r"Ordering: Ordering does not compile: numba does not support argsort"),
    (Opening(*PARTS), "cascade", r"Opening: Opening does not compile: The 'with .*' construct is not supported"),
    ("best", AllocatingUsers(), r"best: AllocatingUsers does not compile: it allocates; .* as fields of the part"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "users", "reason"), REASONS)
def test_a_part_that_does_not_compile_is_told_before_anything_is_played(
    policy: Any, users: Any, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device,) = install_stand_ins(monkeypatch, [CompilingDevice()])
    policies = ["best", policy] if users == "cascade" else [policy]
    with pytest.raises(DoesNotCompile, match=rf"^engine='gpu' cannot play {reason}; use engine='cpu'\.$") as raised:
        toplist.simulate(policies, "b-lb(items=6, positions=2)", users, steps=10, runs=2, engine="gpu")
    assert len(str(raised.value)) < 250
    assert device.batches == device.launches == []
    assert device.prepared == [2] * (len(policies) - 1)  # those that were compiled before
