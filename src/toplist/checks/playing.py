"""Small simulations for checks: a player on nine items and three positions, watched step by step."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from toplist.checks.promise import fail_if
from toplist.core.beliefs import array_bytes
from toplist.core.slate import Ints
from toplist.engine.player import Player, RunSetup

ITEMS, POSITIONS, STEPS = 9, 3, 240


class Trace(NamedTuple):
    """The lists and clicks of one run, and its player at the end."""

    lists: list[list[int]]
    clicks: list[list[int]]
    player: Player


def make_player(setup: RunSetup, key: int = 1, labels: Ints | None = None, compiled: bool = False) -> Player:
    """A player with checkpoints at half of the steps and at the end."""
    return Player(setup, key, np.array([STEPS // 2, STEPS]), labels, compiled)


def play_trace(player: Player, until: int = STEPS) -> Trace:
    """Play step by step and note every list and its clicks."""
    lists, clicks = [], []
    for step in range(player.step, until):
        player.play(step + 1)
        lists.append(player.run.slate.items[: player.run.slate.size[0]].tolist())
        clicks.append(player.run.page.clicks.tolist())
    return Trace(lists, clicks, player)


_shared: ContextVar[dict[int, Trace] | None] = ContextVar("shared traces", default=None)


@contextmanager
def shared_traces() -> Iterator[None]:
    """Within, `shared_trace` plays each part once; otherwise most of a check's time would be equal runs."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def shared_trace(part: Any, play: Callable[[], Trace]) -> Trace:
    """The trace of a part that promises only read, played by the first of them."""
    traces = _shared.get()
    if traces is None:
        return play()
    if id(part) not in traces:
        traces[id(part)] = play()
    return traces[id(part)]


def compare_plain_and_compiled(plain: Trace, compiled: Trace) -> None:
    """Break the promise where compiled code shows, clicks, learns or counts something else than plain Python."""
    for step, (here, there) in enumerate(zip(plain.lists, compiled.lists, strict=True), 1):
        fail_if(here != there, f"at step {step} plain Python showed {here} and compiled code {there}")
    for step, (here, there) in enumerate(zip(plain.clicks, compiled.clicks, strict=True), 1):
        fail_if(here != there, f"at step {step} plain Python clicked {here} and compiled code {there}")
    same = array_bytes(plain.player.belief) == array_bytes(compiled.player.belief)
    fail_if(not same, "plain Python and compiled code ended in different beliefs")
    same = plain.player.run.curves.tobytes() == compiled.player.run.curves.tobytes()
    fail_if(not same, "plain Python and compiled code counted different regret or clicks")


def trace_after_saving(setup: RunSetup) -> Trace:
    """The second half of a run that was saved to a file in the middle, and continued by another player."""
    file = io.BytesIO()
    half = make_player(setup)
    half.play(STEPS // 2)
    np.savez(file, **half.state_arrays())
    file.seek(0)
    again = make_player(setup)
    with np.load(file, allow_pickle=False) as kept:
        again.restore(dict(kept))
    return play_trace(again)


def text_of(items: Any) -> str:
    """A list of items for messages."""
    return str([int(item) for item in items])
