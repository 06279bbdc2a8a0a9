"""Somebody who follows the events of rankings by their cursor, while servers write them and come and go."""

from __future__ import annotations

import asyncio
import http.client
import json
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
            after = json.loads(lines[-1])["seq"] if lines else 0
            path = f"/v1/rankings/ranking-{number % len(self.followed)}/events?after={after}"
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
            all_lines = text.splitlines()
            if lines != all_lines[: len(lines)]:
                at = next(n for n, (own, its) in enumerate(zip(lines, [*all_lines, b""], strict=False)) if own != its)
                raise Broken(
                    f"whoever follows ranking-{number} by its cursor got {lines[at][:200].decode()!r} where the log "
                    f"has {all_lines[at : at + 1]}"
                )
