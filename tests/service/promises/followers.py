"""Somebody who follows the events of rankings by their cursor, while servers write them and come and go."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import count

from benchmarks.server import Server

from .broken import Broken

PAUSE = 0.1  # seconds between two questions


class Follower:
    """Asks the servers in turn for what comes after the last event that it has.

    Parameters
    ----------
    servers : sequence of Server
        The servers.
    rankings : int
        Number of the rankings ranking-0 and so on.
    """

    def __init__(self, servers: Sequence[Server], rankings: int) -> None:
        self._servers = servers
        self.followed: list[list[bytes]] = [[] for _ in range(rankings)]  # lines by ranking
        self._task: asyncio.Task[None] | None = None
        self.questions = 0  # that were answered

    def start(self) -> None:
        """Begin to ask."""
        self._task = asyncio.create_task(self._follow())

    async def stop(self) -> None:
        """Ask no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _follow(self) -> None:
        for number in count():
            server, lines = self._servers[number % len(self._servers)], self.followed[number % len(self.followed)]
            last = json.loads(lines[-1]) if lines else {"seq": 0}
            after = f"cursor={last['cursor']}" if "cursor" in last else f"after={last['seq']}"
            path = f"/v1/rankings/ranking-{number % len(self.followed)}/events"
            path += f"?{after}" if lines else ""
            try:
                status, body = await asyncio.to_thread(server.ask_raw, "GET", path)
            except (OSError, http.client.HTTPException):  # it ended, perhaps in the middle of a line
                status, body = 0, b""
            if status == 200:
                lines += body.splitlines()
                self.questions += 1
            await asyncio.sleep(PAUSE)

    def check(self, exported: Sequence[bytes]) -> None:
        """Compare what was followed with the events of each ranking as they are at the end."""
        for number, (lines, text) in enumerate(zip(self.followed, exported, strict=True)):
            its_lines = _by_division(text.splitlines())
            for division, own in _by_division(lines).items():
                its = its_lines.get(division, [])
                if own != its[: len(own)]:
                    at = next(n for n, (one, other) in enumerate(zip(own, [*its, ""], strict=False)) if one != other)
                    raise Broken(
                        f"whoever follows ranking-{number} by its cursor got {own[at][:200]!r} where the log has "
                        f"{its[at : at + 1]}"
                    )


def _by_division(lines: Sequence[bytes]) -> dict[int, list[str]]:
    """Events by division, without their cursors, which also tell how far others are read."""
    found: dict[int, list[str]] = defaultdict(list)
    for line in lines:
        event = json.loads(line)
        event.pop("cursor", None)
        found[event.get("division", 0)].append(json.dumps(event))
    return found
