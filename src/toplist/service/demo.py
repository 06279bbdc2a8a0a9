"""An example to watch: a page of articles, visitors drawn from a click model, and a service that learns what they like.

The service is the real one, in a process of its own; the visitors come over HTTP, as everybody does.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from toplist.clicks import DCM
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import empty_page
from toplist.ranker.item_slots import label
from toplist.service.client import AsyncClient, ServiceError, Unreachable
from toplist.service.wire import Estimates, RankingSpec

T = TypeVar("T")
RANKING, POSITIONS, POLICY = "front-page", 4, "dcm-kl-ucb"
ARTICLES = {  # and the probability that a visitor who looks at it is attracted
    "A bridge reopens after nine years": 0.04,
    "How bees find their way home": 0.08,
    "Ten recipes for late pears": 0.03,
    "Night trains are coming back": 0.45,
    "The mayor's budget, explained": 0.02,
    "What the old map left out": 0.05,
    "A goalkeeper's last match": 0.06,
    "Storm expected on Sunday": 0.50,
    "The library that lends tools": 0.30,
    "Rents rise again in the centre": 0.38,
    "Crossword: the week's winners": 0.01,
    "A violin found in an attic": 0.04,
}
TERMINATION = 0.6  # after a click, how many have found what they came for
RECENT = 500  # visitors whose click-through is told
AT_ONCE = 8  # visitors who look at their page at the same time


class Audience:
    """Visitors of the example: equal seeds and numbers make equal visitors."""

    def __init__(self, seed: int = 0) -> None:
        self._users = DCM(TERMINATION).prepare(Problem(len(ARTICLES), POSITIONS, 0, None))
        self._key = seed

    def clicks(self, visitor: int, items: Sequence[str]) -> list[int]:
        """The positions that a visitor clicks, counted from 1."""
        attraction = np.zeros(POSITIONS)
        attraction[: len(items)] = [ARTICLES[item] for item in items]
        labels = np.zeros(POSITIONS, dtype=np.int64)
        labels[: len(items)] = [label(item) for item in items]
        page = empty_page(POSITIONS)
        self._users.click(None, np.arange(POSITIONS), attraction, labels, branch(self._key, visitor), page)
        return [place + 1 for place in range(len(items)) if page.clicks[place]]


def best_click_through() -> float:
    """The share of visitors who would click something on the best list.

    >>> round(best_click_through(), 3)
    0.881
    """
    best = sorted(ARTICLES.values(), reverse=True)[:POSITIONS]
    return float(1.0 - np.prod(1.0 - np.array(best)))


class Standing(NamedTuple):
    """How far the example is."""

    visitors: int  # who were there since this start
    told: int  # how many of the last of them the next number is about
    recent: float  # the share of the last of them who clicked something
    estimates: Estimates


async def visit(
    client: AsyncClient, audience: Audience, rate: float, tell: Callable[[Standing], None], every: float = 1.0
) -> None:
    """Send visitors to the service, so many a second, until somebody stops it; tell about it now and then."""
    before = await prepared(client)
    recent: deque[bool] = deque(maxlen=RECENT)
    count = 0

    async def one_after_the_other() -> None:
        nonlocal count
        while True:
            visitor = before + count
            count += 1
            shown = await client.make_list(RANKING)
            clicks = audience.clicks(visitor, shown.items)
            await client.report(shown.impression, clicks=clicks, final=True)
            recent.append(bool(clicks))
            await asyncio.sleep(AT_ONCE / rate)

    async def now_and_then() -> None:
        while True:
            await asyncio.sleep(every)
            if recent:
                tell(Standing(count, len(recent), sum(recent) / len(recent), await client.estimates(RANKING)))

    async with asyncio.TaskGroup() as together:
        for _ in range(AT_ONCE):
            together.create_task(one_after_the_other())
        together.create_task(now_and_then())


async def prepared(client: AsyncClient) -> int:
    """Make the ranking, if it is not there from an earlier start; how many lists it had learned then."""
    if await _there(client.ranking(RANKING)) is None:
        spec = RankingSpec(name=RANKING, positions=POSITIONS, policy=POLICY, reference=best_click_through())
        await client.create_ranking(spec)
    await client.put_items(RANKING, list(ARTICLES))
    known = await _there(client.estimates(RANKING))
    return 0 if known is None else known.learned


async def _there(answer: Awaitable[T]) -> T | None:
    """What is asked for, or None where there is no such thing yet."""
    try:
        return await answer
    except ServiceError as error:
        if error.status != 404:
            raise
        return None


def told(now: Standing) -> list[str]:
    """How far the example is, as lines for a terminal."""
    best = best_click_through()
    width = 40
    filled = min(width, round(width * now.recent / best))
    lines = [
        f"{now.estimates.learned:,} lists learned, {now.visitors:,} visitors since this start",
        f"click-through of the last {now.told:,}: {now.recent:.1%}; the best list has {best:.1%}",
        f"|{'#' * filled}{'.' * (width - filled)}|",
        "",
        f"{'':4}{'current order':<36}{'estimate':>9}{'truth':>8}{'examined':>10}",
    ]
    for place, item in enumerate(now.estimates.items, start=1):
        mean = "-" if item.mean is None else f"{item.mean:.2f}"
        examined = "-" if item.examined is None else f"{item.examined:,.0f}"
        mark = f"{place:>2}." if place <= POSITIONS else "   "
        lines.append(f"{mark:<4}{item.item:<36}{mean:>9}{ARTICLES[item.item]:>8.2f}{examined:>10}")
    return lines


class Terminal:
    """Shows the latest lines in the place of those before; where nobody watches, one line every few seconds."""

    def __init__(self, stream: object = sys.stdout, rare: int = 5) -> None:
        self._stream = stream
        self._live = hasattr(stream, "isatty") and stream.isatty()
        self._shown, self._times, self._rare = 0, 0, rare

    def show(self, now: Standing) -> None:
        """What there is to see now."""
        self._times += 1
        if self._live:
            lines = told(now)
            up = f"\x1b[{self._shown}A" if self._shown else ""
            print(up + "\n".join(f"\x1b[2K{line}" for line in lines), file=self._stream, flush=True)  # type: ignore[call-overload]
            self._shown = len(lines)
        elif self._times % self._rare == 1:
            print(" | ".join(told(now)[:2]), file=self._stream, flush=True)  # type: ignore[call-overload]


def run(folder: Path, port: int, rate: float, seconds: float | None = None) -> None:
    """Start the service on a folder of its own, send visitors, and end both together."""
    folder.mkdir(parents=True, exist_ok=True)
    server = started(folder, port)
    try:
        assert server.stdout is not None
        said = server.stdout.readline()
        if not said:
            server.wait()
            raise InvalidInput(f"The service did not start; it said why above, or see {folder / 'service.log'}.")
        address = said.rsplit(" ", 1)[-1].strip()
        print(f"{said.strip()}\nLook at {address}/ in a browser, or here; Ctrl-C ends it, and a later start goes on.\n")
        with suppress(KeyboardInterrupt, TimeoutError):
            asyncio.run(watched(address, rate, seconds))
    finally:
        ended(server)


async def watched(address: str, rate: float, seconds: float | None) -> None:
    """Visitors for so many seconds, or until Ctrl-C."""
    async with AsyncClient(address) as client, asyncio.timeout(seconds):
        with suppress(Unreachable):
            await visit(client, Audience(), rate, Terminal().show)


def started(folder: Path, port: int) -> subprocess.Popen[str]:
    """The service as a process, out of reach of this terminal's Ctrl-C: it ends when the visitors have left.

    It is at home in its folder, and has nothing of the settings of another service here: its visitors have no keys.
    """
    store = str((folder / "toplist.db").absolute())
    command = [sys.executable, "-m", "toplist", "serve", "--store", store, "--port", str(port)]
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
    log = os.open(folder / "service.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            [*command, "--set", "logs.requests=failed"], stdout=subprocess.PIPE, stderr=log, text=True,
            start_new_session=True, cwd=folder, env=surroundings,
        )  # fmt: skip
    finally:
        os.close(log)


def ended(server: subprocess.Popen[str]) -> None:
    """End the service, and wait for it."""
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    with suppress(KeyboardInterrupt):  # asked twice: it is asked once more by the next line
        server.wait(timeout=30)
    if server.poll() is None:
        server.kill()
        server.wait()
