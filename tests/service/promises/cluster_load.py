"""Visitors of several servers, while things happen to these; every request and reply is kept."""

from __future__ import annotations

import asyncio
import random

from .broken import NoAnswer
from .callers import LibraryCaller, Visitor
from .cluster_drama import Drama
from .history import History, Recorder
from .journal import Journal
from .takeovers import PATIENCE

RANKINGS, ITEMS, POSITIONS, SEGMENTS = 5, 20, 4, 3
DIVIDED, DIVISIONS = 2, 4  # the first rankings, and into how many divisions
CONNECTIONS = 6
THINKING = 0.06  # seconds between two visits of a visitor
SHORT_TIMEOUT, LONG_TIMEOUT = 1.0, 10.0  # seconds after which callers hang up and ask again


class Load:
    """Visitors come, and items come and go.

    Parameters
    ----------
    ports : list of int
        Ports of the servers; each caller begins with another one.
    journal, history : Journal, History
        Where requests and replies are kept.
    seed : int
        Of what visitors do.
    by_library : bool
        Whether they retry as often as the client library does, not until there is an answer.
    """

    def __init__(self, ports: list[int], journal: Journal, history: History, seed: int, by_library: bool) -> None:
        self._ports, self._journal, self._history, self._seed = ports, journal, history, seed
        self._by_library = by_library
        self._over = asyncio.Event()
        self.callers: list[Recorder] = []
        self._task: asyncio.Future[list[None]] | None = None

    def _caller(self, number: int) -> Recorder:
        first = number % len(self._ports)
        timeout = SHORT_TIMEOUT if number % 2 else LONG_TIMEOUT
        ports = self._ports[first:] + self._ports[:first]
        library = LibraryCaller(*ports, seed=number) if self._by_library else None
        self.callers.append(Recorder(self._history, *ports, library=library, patience=PATIENCE, timeout=timeout))
        return self.callers[-1]

    async def _come_again(self, number: int) -> None:
        name, chance = f"ranking-{number % RANKINGS}", random.Random(number)
        visitor = Visitor(self._caller(number), self._journal, name, f"visitor-{number}", self._seed, SEGMENTS)
        while not self._over.is_set():
            await visitor.visit()
            await asyncio.sleep(chance.uniform(0.0, 2 * THINKING))

    async def _change_items(self) -> None:
        """The history knows which lists may have them."""
        own, number = self._caller(0), 0
        while not self._over.is_set():
            number += 1
            ranking = number % RANKINGS
            path, item = f"/v1/rankings/ranking-{ranking}", f"guest-{number}"
            await own.ask("PUT", f"{path}/items", {"items": [{"id": item}]})
            await asyncio.sleep(THINKING)
            await own.ask("POST", f"{path}/items/remove", {"ids": [item]})
            request = f"guest-{number}" if self._by_library else None  # the library gives each request an id
            asked = {"deferred": True} | ({"request_id": request} if request else {})
            if ranking < DIVIDED:  # another server than that which has removed the item
                asked |= {"segment": f"guests-{number}"}
            self._journal.listed(await own.ask("POST", f"{path}/lists", asked), request)

    def start(self) -> None:
        """Let them come."""
        self._task = asyncio.gather(*(self._come_again(number) for number in range(CONNECTIONS)), self._change_items())

    @property
    def running(self) -> asyncio.Future[list[None]]:
        """Done when somebody has found something."""
        assert self._task is not None
        return self._task

    async def another_list(self) -> None:
        """Wait until one more list is acknowledged."""
        before = len(self._journal.lists)
        while len(self._journal.lists) == before and not self.running.done():
            await asyncio.sleep(0.01)

    async def pause(self, seconds: float) -> None:
        """Let them come for some seconds."""
        await asyncio.wait([self.running], timeout=seconds)

    async def stop(self) -> None:
        """Let them finish what they have begun."""
        self._over.set()
        try:
            async with asyncio.timeout(2 * PATIENCE):
                await self.running
        except TimeoutError:
            raise NoAnswer(f"visitors have no answer after {2 * PATIENCE:.0f} s") from None
        finally:
            for caller in self.callers:
                caller.close()
                if caller.library is not None:
                    await caller.library.close()


async def play(load: Load, drama: Drama, episodes: int, pause: float, chance: random.Random) -> dict[str, list[float]]:
    """Let things happen under load, with pauses up to so many seconds; the longest wait of a request by episode."""
    waits: dict[str, list[float]] = {}
    for _ in range(episodes):
        await load.another_list()
        await load.pause(chance.uniform(0.0, pause))
        if load.running.done():  # somebody found something
            break
        for each in load.callers:
            each.longest = 0.0
        kind = await drama.episode()
        await load.another_list()
        waits.setdefault(kind, []).append(max(each.longest for each in load.callers))
    return waits
