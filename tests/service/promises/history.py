"""All requests and replies with their times, checked against what a sequential service could have replied.

It knows the API alone. A request takes effect at one moment between its first sending and its answer; what was
acknowledged before another request began has happened before it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from benchmarks.server import Broken

from .callers import Caller, LibraryCaller

CERTAIN = 0.6  # of a window, in which a report surely counts: the clock of a database is known to some extent only


class Call(NamedTuple):
    """A request, and what was answered in the end."""

    begun: float
    ended: float
    method: str
    path: str
    body: Any
    answer: dict[str, Any]
    tries: int = 1  # the first ones may have been lost, or take effect at any time later


@dataclass
class History:
    """What callers asked for, and what they were told."""

    calls: list[Call] = field(default_factory=list)
    window: float = 0.0  # seconds in which clicks on a list count

    def check(self) -> None:
        """Raise `Broken` unless the answers fit together."""
        lists = [call for call in self.calls if call.path.endswith("/lists")]
        self._check_lists(lists)
        self._check_items(lists)
        reports: dict[str, list[Call]] = defaultdict(list)
        for call in self.calls:
            if call.path.endswith("/clicks"):
                reports[call.path].append(call)
        self._check_reports(reports)
        self._check_windows(lists, reports)

    def until_all_answer(self, away: Sequence[tuple[float, float]]) -> list[float]:
        """For each time that the database was away: its seconds afterwards until a list of every ranking was answered.

        Seconds in which it was away again do not count.
        """
        found = []
        for _, back in away:
            first: dict[str, float] = {}
            for call in self.calls:
                if call.path.endswith("/lists") and call.ended > back:
                    first[call.path] = min(first.get(call.path, inf), call.ended)
            last = max(first.values(), default=back)
            again = sum(min(until, last) - since for since, until in away if back < since < last)
            found.append(last - back - again)
        return found

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
        """An item is on no list that began after its removal was acknowledged, nor on one that ended before it came.

        Where it was put several times, because no answer came, it may come again after its removal.
        """
        put: dict[tuple[str, str], float] = defaultdict(lambda: inf)  # first moment at which it may be there
        removed: dict[tuple[str, str], float] = defaultdict(lambda: inf)
        comes_again: set[tuple[str, str]] = set()
        for call in self.calls:
            ranking, _, rest = call.path.removeprefix("/v1/rankings/").partition("/")
            if rest == "items":
                for item in call.body["items"]:
                    put[ranking, item["id"]] = min(put[ranking, item["id"]], call.begun)
                    if call.tries > 1:
                        comes_again.add((ranking, item["id"]))
            elif rest == "items/remove":
                for id in call.body["ids"]:
                    removed[ranking, id] = min(removed[ranking, id], call.ended)
        again = self._told_again(lists)
        for call in lists:
            ranking = call.path.removeprefix("/v1/rankings/").partition("/")[0]
            if call.answer["impression"] in again:
                continue  # an older list, told again
            for item in call.answer["items"]:
                if call.begun > removed[ranking, item] and (ranking, item) not in comes_again:
                    raise Broken(f"{item} of {ranking} is on a list that was asked for after its removal")
                if (ranking, item) in put and call.ended < put[ranking, item]:
                    raise Broken(f"{item} of {ranking} is on a list before it was put")

    def _told_again(self, lists: list[Call]) -> set[str]:
        """Impressions of lists that were asked for twice."""
        counts = Counter(call.answer["impression"] for call in lists)
        return {impression for impression, count in counts.items() if count > 1}

    def _check_reports(self, reports: dict[str, list[Call]]) -> None:
        """Once a final report counted, no later one with clicks that nobody had reported does."""
        for path, calls in reports.items():
            closed = [call for call in calls if call.body.get("final") and call.answer["counted"]]
            for first in closed:
                known = {str(click) for call in calls if call.begun <= first.ended for click in call.body["clicks"]}
                for later in calls:
                    is_more = not set(map(str, later.body["clicks"])) <= known
                    if later.begun > first.ended and later.answer["counted"] and is_more:
                        raise Broken(f"{path} counted {later.body} after the final report {first.body}")

    def _check_windows(self, lists: list[Call], reports: dict[str, list[Call]]) -> None:
        """A report counts if it is answered well within the window of its list, and no final one came before it."""
        asked: dict[str, float] = {}  # when a list was asked for
        for call in lists:
            impression = call.answer["impression"]
            asked[impression] = min(asked.get(impression, inf), call.begun)
        for path, calls in reports.items():
            until = asked.get(path.split("/")[-2], -inf) + CERTAIN * self.window
            finals = [call for call in calls if call.body.get("final")]
            for call in calls:
                is_closed = any(final is not call and final.begun < call.ended for final in finals)
                if call.ended < until and not is_closed and not call.answer["counted"]:
                    raise Broken(f"{path} {call.body} did not count within the window of its list")


class Recorder(Caller):
    """A caller whose requests and answers are kept; it may ask as the client library does."""

    def __init__(self, history: History, *ports: int, library: LibraryCaller | None = None, **more: Any) -> None:
        super().__init__(*ports, **more)
        self._history, self.library = history, library
        self.longest = 0.0  # seconds from the first sending of a request to its answer

    async def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Ask until there is an answer, or as often as the library does, and keep both."""
        now = asyncio.get_running_loop().time
        begun = now()
        if self.library is None:
            answer = await super().ask(method, path, body)
        else:
            answer = await self.library.ask(method, path, body)
            self.tries, self.unanswered = self.library.tries, self.library.unanswered
        self._history.calls.append(Call(begun, now(), method, path, body or {}, answer, self.tries))
        self.longest = max(self.longest, now() - begun)
        return answer
