"""All requests and replies with their times, checked against what a sequential service could have replied.

It knows the API alone. A request takes effect at one moment between its first sending and its answer; what was
acknowledged before another request began has happened before it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from benchmarks.server import Broken

from .callers import Caller


class Call(NamedTuple):
    """A request, and what was answered in the end."""

    begun: float
    ended: float
    method: str
    path: str
    body: Any
    answer: dict[str, Any]


@dataclass
class History:
    """What callers asked for, and what they were told."""

    calls: list[Call] = field(default_factory=list)

    def check(self) -> None:
        """Raise `Broken` unless the answers fit together."""
        lists = [call for call in self.calls if call.path.endswith("/lists")]
        self._check_lists(lists)
        self._check_items(lists)
        self._check_reports()

    def _check_lists(self, lists: list[Call]) -> None:
        made: dict[str, tuple[str, Any]] = {}
        shown: dict[str, tuple[str, list[str]]] = {}
        for call in lists:
            told, impression = call.answer, call.answer["impression"]
            if shown.setdefault(impression, (call.path, told["items"])) != (call.path, told["items"]):
                raise Broken(f"the list {impression} was {shown[impression]}, and then {told['items']}")
            if call.body.get("request_id") is None:
                continue
            request = f"{call.path} {call.body['request_id']}"
            if made.setdefault(request, impression) != impression:
                raise Broken(f"{request} made the lists {made[request]} and {impression}")
        answered = [call for call in lists if call.body.get("request_id") is None]
        if len({call.answer["impression"] for call in answered}) != len(answered):
            raise Broken("two requests without an id got the same list")

    def _check_items(self, lists: list[Call]) -> None:
        """An item is on no list that began after its removal was acknowledged, nor on one that ended before it came."""
        put: dict[tuple[str, str], float] = defaultdict(lambda: inf)  # first moment at which it may be there
        removed: dict[tuple[str, str], float] = defaultdict(lambda: inf)
        for call in self.calls:
            ranking, _, rest = call.path.removeprefix("/v1/rankings/").partition("/")
            if rest == "items":
                for item in call.body["items"]:
                    put[ranking, item["id"]] = min(put[ranking, item["id"]], call.begun)
            elif rest == "items/remove":
                for id in call.body["ids"]:
                    removed[ranking, id] = min(removed[ranking, id], call.ended)
        again = self._told_again(lists)
        for call in lists:
            ranking = call.path.removeprefix("/v1/rankings/").partition("/")[0]
            if call.answer["impression"] in again:
                continue  # an older list, told again
            for item in call.answer["items"]:
                if call.begun > removed[ranking, item]:
                    raise Broken(f"{item} of {ranking} is on a list that was asked for after its removal")
                if (ranking, item) in put and call.ended < put[ranking, item]:
                    raise Broken(f"{item} of {ranking} is on a list before it was put")

    def _told_again(self, lists: list[Call]) -> set[str]:
        """Impressions of lists that were asked for twice."""
        counts = Counter(call.answer["impression"] for call in lists)
        return {impression for impression, count in counts.items() if count > 1}

    def _check_reports(self) -> None:
        """Once a final report counted, no later one with clicks that nobody had reported does."""
        reports: dict[str, list[Call]] = defaultdict(list)
        for call in self.calls:
            if call.path.endswith("/clicks"):
                reports[call.path].append(call)
        for path, calls in reports.items():
            closed = [call for call in calls if call.body.get("final") and call.answer["counted"]]
            for first in closed:
                known = {str(click) for call in calls if call.begun <= first.ended for click in call.body["clicks"]}
                for later in calls:
                    is_more = not set(map(str, later.body["clicks"])) <= known
                    if later.begun > first.ended and later.answer["counted"] and is_more:
                        raise Broken(f"{path} counted {later.body} after the final report {first.body}")


class Recorder(Caller):
    """A caller whose requests and answers are kept."""

    def __init__(self, history: History, *ports: int, **more: Any) -> None:
        super().__init__(*ports, **more)
        self._history = history
        self.longest = 0.0  # seconds from the first sending of a request to its answer

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Ask until there is an answer, and keep both."""
        now = asyncio.get_running_loop().time
        begun = now()
        answer = await super().ask(method, path, body)
        self._history.calls.append(Call(begun, now(), method, path, body or {}, answer))
        self.longest = max(self.longest, now() - begun)
        return answer
