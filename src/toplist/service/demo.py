"""The demo: a page of articles, simulated visitors, and a service that learns what they click.

The service is the real one, in its own process; the visitors use it over HTTP, like every other client.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from toplist.clicks import DCM
from toplist.core.compiling import LIBRARY_VARIABLES
from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import empty_page
from toplist.ranker.labels import label
from toplist.service.client import AsyncClient, ServiceError, Unreachable
from toplist.service.demo_site import NewsSite
from toplist.service.wire import Estimates, RankingSpec

T = TypeVar("T")
RANKING, POSITIONS = "news", 4
ARTICLES = {  # and the probability that a visitor who examines it is attracted
    "A bridge reopens after nine years": 0.03,
    "School starts later from May": 0.08,
    "How bees find their way home": 0.08,
    "A clock that runs backwards": 0.02,
    "Ten recipes for late pears": 0.06,
    "Bus line 12 is cut short": 0.04,
    "Night trains are coming back": 0.24,
    "The last lamplighter retires": 0.05,
    "The mayor's budget, explained": 0.03,
    "Why the river turned green": 0.11,
    "What the old map left out": 0.03,
    "Two towns, one swimming pool": 0.02,
    "A goalkeeper's last match": 0.05,
    "Chess in the park, rain or shine": 0.04,
    "Storm expected on Sunday": 0.30,
    "A tunnel missing from the maps": 0.03,
    "The library that lends tools": 0.10,
    "Harvest of the century?": 0.02,
    "Rents rise again in the centre": 0.15,
    "The choir looks for tenors": 0.06,
    "Crossword: the week's winners": 0.04,
    "How safe is the old dam?": 0.13,
    "A violin found in an attic": 0.05,
    "Fines for e-scooters double": 0.02,
    "The ferry that sails by night": 0.07,
    "A fox lives in the town hall": 0.09,
    "Who owns the town forest?": 0.02,
    "Museum buys a forgotten portrait": 0.04,
    "A baker opens at midnight": 0.02,
    "The market moves to Fridays": 0.07,
    "Letters to the editor": 0.03,
    "Swifts return a week early": 0.07,
    "A wedding on the tram": 0.06,
    "Power cut: what went wrong": 0.19,
    "The bookshop that never closes": 0.04,
    "New lights for Station Road": 0.04,
    "Volunteers plant 900 oaks": 0.03,
    "Council votes on the stadium": 0.06,
    "The oldest recipe in town": 0.05,
    "Postcards from the front desk": 0.05,
}
TERMINATION = 0.6  # probability that a visitor is satisfied after a click
RECENT = 500  # visitors in the recent click-through rate
CONCURRENT = 8  # visitors at the same time
LINES = 12  # articles that the terminal shows
HOST = "127.0.0.1"
WINDOW = 60.0  # seconds that a list waits for clicks: those of a reader are learned while they watch
PORTS_TRIED = 50
HOLDOUT = 0.2  # share of visitors that get the articles in the order of the editors
OTHERS = 0.1  # attraction of items that somebody adds


def attraction_of(item: ItemId) -> float:
    """The probability that a visitor who examines an item is attracted."""
    return ARTICLES.get(str(item), OTHERS)


class Audience:
    """Simulated visitors; the same seed and number give the same visitor."""

    def __init__(self, seed: int = 0) -> None:
        self._users = DCM(TERMINATION).prepare(Problem(len(ARTICLES), POSITIONS, 0, None))
        self._seed = seed

    def clicks(self, visitor: int, items: Sequence[ItemId]) -> list[int]:
        """The 1-based positions that a visitor clicks."""
        attraction = np.zeros(POSITIONS)
        attraction[: len(items)] = [attraction_of(item) for item in items]
        labels = np.zeros(POSITIONS, dtype=np.int64)
        labels[: len(items)] = [label(item) for item in items]
        page = empty_page(POSITIONS)
        self._users.click(None, np.arange(POSITIONS), attraction, labels, branch(self._seed, visitor), page)
        return [position + 1 for position in range(len(items)) if page.clicks[position]]


def best_click_through() -> float:
    """The click-through rate of the best list.

    >>> round(best_click_through(), 3)
    0.634
    """
    best = sorted(ARTICLES.values(), reverse=True)[:POSITIONS]
    return float(1.0 - np.prod(1.0 - np.array(best)))


class Standing(NamedTuple):
    """Progress of the demo."""

    visitors: int  # since this start
    recent_visitors: int  # the last ones, RECENT at most
    click_through: float  # of the recent visitors
    estimates: Estimates
    holdout: float | None = None  # click-through of the holdout; None before its first visitor


async def visit(
    client: AsyncClient, audience: Audience, rate: float, show: Callable[[Standing], None], every: float = 1.0
) -> None:
    """Send `rate` visitors per second to the service until cancelled; call `show` every few seconds."""
    before = await prepare(client)
    recent: deque[bool] = deque(maxlen=RECENT)
    held: deque[bool] = deque(maxlen=RECENT)  # visitors of the holdout
    count = 0

    async def send_visitors() -> None:
        nonlocal count
        while True:
            visitor = before + count
            count += 1
            shown = await client.make_list(RANKING, visitor=f"visitor-{visitor}")
            clicks = audience.clicks(visitor, shown.items)
            await client.report(shown, clicks=clicks, final=True)
            (held if shown.group == "holdout" else recent).append(bool(clicks))
            await asyncio.sleep(CONCURRENT / rate)

    async def show_progress() -> None:
        while True:
            await asyncio.sleep(every)
            if recent:
                baseline = sum(held) / len(held) if held else None
                estimates = await client.estimates(RANKING)
                show(Standing(count, len(recent), sum(recent) / len(recent), estimates, baseline))

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CONCURRENT):
            tasks.create_task(send_visitors())
        tasks.create_task(show_progress())


async def prepare(client: AsyncClient) -> int:
    """Create the ranking, unless an earlier start has; the number of lists it has learned."""
    if await _or_none(client.ranking(RANKING)) is None:
        best = best_click_through()
        spec = RankingSpec(name=RANKING, positions=POSITIONS, reference=best, click_window=WINDOW, holdout=HOLDOUT)
        await client.create_ranking(spec)
    await client.put_items(RANKING, list(ARTICLES))
    estimates = await _or_none(client.estimates(RANKING))
    return 0 if estimates is None else estimates.learned


async def _or_none(reply: Awaitable[T]) -> T | None:
    """A reply of the service, or None if it is a 404."""
    try:
        return await reply
    except ServiceError as error:
        if error.status != 404:
            raise
        return None


def status_lines(now: Standing) -> list[str]:
    """The progress of the demo as lines of text."""
    best = best_click_through()
    width = 40
    filled = min(width, round(width * now.click_through / best))
    others = f"the best list has {best:.1%}"
    if now.holdout is not None:
        others += f", the holdout {now.holdout:.1%}"
    lines = [
        f"{now.estimates.learned:,} lists learned, {now.visitors:,} visitors since this start",
        f"click-through of the last {now.recent_visitors:,}: {now.click_through:.1%}; {others}",
        f"|{'#' * filled}{'.' * (width - filled)}|",
        "",
        f"{'':4}{'current order':<36}{'estimate':>9}{'truth':>8}{'examined':>10}",
    ]
    for position, item in enumerate(now.estimates.items[:LINES], start=1):
        mean = "-" if item.mean is None else f"{item.mean:.2f}"
        examined = "-" if item.examined is None else f"{item.examined:,.0f}"
        mark = f"{position:>2}." if position <= POSITIONS else "   "
        lines.append(f"{mark:<4}{item.item:<36}{mean:>9}{attraction_of(item.item):>8.2f}{examined:>10}")
    return [*lines, f"    and {len(now.estimates.items) - LINES} more articles"]


class Terminal:
    """Overwrites the lines of a terminal; prints one line every few seconds to anything else."""

    def __init__(self, stream: object = sys.stdout, every: int = 5) -> None:
        self._stream = stream
        self._live = hasattr(stream, "isatty") and stream.isatty()
        self._shown, self._times, self._every = 0, 0, every

    def show(self, now: Standing) -> None:
        """Show the progress; where it is no terminal, only every few calls."""
        self._times += 1
        if self._live:
            lines = status_lines(now)
            up = f"\x1b[{self._shown}A" if self._shown else ""
            print(up + "\n".join(f"\x1b[2K{line}" for line in lines), file=self._stream, flush=True)  # type: ignore[call-overload]
            self._shown = len(lines)
        elif self._times % self._every == 1:
            print(" | ".join(status_lines(now)[:2]), file=self._stream, flush=True)  # type: ignore[call-overload]


def run(folder: Path, port: int, rate: float, seconds: float | None = None) -> None:
    """Start the service in a folder and send visitors, for a number of seconds or until Ctrl-C; then stop it.

    The example page has a port of its own, the next free one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as opened:
        if port:
            with first_free(port) as listener:
                taken, port = port, listener.getsockname()[1]
            if port != taken:
                print(f"Port {taken} is busy; the service takes {port}.")
        site = opened.enter_context(first_free(port + 1 if port else 0))
        server = start_service(folder, port, site.getsockname()[1])
        opened.callback(stop_service, server)
        assert server.stdout is not None
        first_line = server.stdout.readline()
        if not first_line:
            server.wait()
            raise InvalidInput(f"The service did not start; see why in {folder / 'service.log'}.")
        address = first_line.rsplit(" ", 1)[-1].strip()
        print(first_line.strip())
        print(f"Read and click as a visitor: http://{HOST}:{site.getsockname()[1]}/")
        print(f"Watch it learn: {address}/, or here; Ctrl-C stops it, and the next start continues.\n", flush=True)
        with suppress(KeyboardInterrupt, TimeoutError):
            asyncio.run(visit_for(address, rate, seconds, site))


def first_free(port: int) -> socket.socket:
    """A listening socket on a port, or on the first one above it that is free; 0: on any."""
    for each in range(port, min(port + PORTS_TRIED, 65_536)):
        with suppress(OSError):
            return socket.create_server((HOST, each))
    raise InvalidInput(f"All ports from {port} to {port + PORTS_TRIED - 1} are busy; name another with --port.")


async def visit_for(address: str, rate: float, seconds: float | None, site: socket.socket) -> None:
    """Send visitors for a number of seconds, or until Ctrl-C, and serve the example page."""
    async with AsyncClient(address) as client, asyncio.timeout(seconds):
        pages = NewsSite(client, address, RANKING, list(ARTICLES))
        async with pages.serving(site):
            with suppress(Unreachable):
                await visit(client, Audience(), rate, Terminal().show)


def start_service(folder: Path, port: int, site_port: int) -> subprocess.Popen[str]:
    """Start the service in a session of its own: Ctrl-C does not reach it, it is stopped after the visitors.

    It runs in its folder and ignores the settings of any other service here, since its visitors have no API keys.
    """
    store = str((folder / "toplist.db").absolute())
    command = [sys.executable, "-m", "toplist", "serve", "--store", store, "--port", str(port)]
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TOPLIST_") or name in LIBRARY_VARIABLES
    }
    environment["TOPLIST_BROWSER_SECRETS"] = f"demo:{secrets.token_hex(32)}"
    environment["TOPLIST_BROWSER_ORIGINS"] = f"http://{HOST}:{site_port},http://localhost:{site_port}"
    log = os.open(folder / "service.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            [*command, "--set", "logs.requests=failed"], stdout=subprocess.PIPE, stderr=log, text=True,
            start_new_session=True, cwd=folder, env=environment,
        )  # fmt: skip
    finally:
        os.close(log)


def stop_service(server: subprocess.Popen[str]) -> None:
    """Stop the service, and wait for it."""
    if server.poll() is None:
        server.send_signal(signal.SIGTERM)
    with suppress(KeyboardInterrupt, subprocess.TimeoutExpired):  # a second Ctrl-C, or too slow: kill it below
        server.wait(timeout=30)
    if server.poll() is None:
        server.kill()
        server.wait()
