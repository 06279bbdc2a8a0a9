"""Every learner again from the log alone, and a comparison to the last bit with snapshots and with live ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from toplist.core.problem import InvalidInput
from toplist.service.live.ranking import Setting
from toplist.service.log.events import decode_learner, decode_ranking
from toplist.service.log.replay import Replay, beginning, first_event, from_snapshot, in_order, items_at
from toplist.service.store.protocol import LEARNER, EventRow, LearnerRow
from toplist.service.store.sqlite import SQLiteStore

Live = Mapping[tuple[str, str | None], bytes]


class Rebuilt(NamedTuple):
    """A learner, rebuilt."""

    ranking: str
    key: str | None
    learned: int  # lists
    state: bytes
    differs: tuple[str, ...]  # from what: "its snapshot", "the live one", "what the service would load", "the log"


def rebuilt(path: Path, live: Live | None = None) -> Iterator[Rebuilt]:
    """All learners of a store, which may be in use; what is `live` must not change meanwhile.

    Where a ranking's retention let events be forgotten, a learner is begun from what was kept before.
    """
    store = SQLiteStore(path, read_only=True)
    try:
        for event in store.log(LEARNER):
            row = LearnerRow(event.seq, event.ranking, decode_learner(event.body).key)
            with store.reading():  # of one moment each: a service may change or delete the ranking meanwhile
                setting = _setting(store.setting_events(row.ranking))
                if setting is None:
                    continue
                try:
                    one = _rebuilt(store, setting, row, live)
                except InvalidInput as problem:  # of one learner, which says nothing of the others
                    one = Rebuilt(setting.name, row.key, 0, b"", (f"the log, by which it cannot be: {problem}",))
            yield one
    finally:
        store.close()


def differences(path: Path, live: Live | None = None) -> list[str]:
    """A sentence for every learner that is not as the log says it must be; none is what one wants to see."""
    return [
        f"The learner of {one.ranking!r} and key {one.key!r} differs from {' and '.join(one.differs)}."
        for one in rebuilt(path, live)
        if one.differs
    ]


def _setting(events: Iterable[EventRow]) -> Setting | None:
    """A ranking as its events say; None where it was deleted."""
    setting: Setting | None = None
    for event in events:
        body = decode_ranking(event.body)
        setting = None if body.deleted else Setting.of(body, body.policy)
    return setting


def _rebuilt(store: SQLiteStore, setting: Setting, row: LearnerRow, live: Live | None) -> Rebuilt:
    base = store.snapshot(row.id, setting.policy, base=True)
    if base is not None:
        replay = from_snapshot(setting, row, base, store.event)
    else:
        start = first_event(setting, row.id)
        replay = beginning(setting, row, items_at(store.item_events(row.ranking, 0), start), store.event)
    kept = store.snapshot(row.id, setting.policy)
    differs: list[str] = []
    if kept is not None:
        _run(store, row, replay, kept.seq)
        if replay.ranker.to_bytes() != kept.body:
            differs.append("its snapshot")
    _run(store, row, replay)
    state = replay.ranker.to_bytes()
    if kept is not None:
        served = from_snapshot(setting, row, kept, store.event)
        _run(store, row, served)
        if served.ranker.to_bytes() != state:
            differs.append("what the service would load")
    if live is not None and (alive := live.get((setting.name, row.key))) is not None and alive != state:
        differs.append("the live one")
    return Rebuilt(setting.name, row.key, replay.ranker.learned, state, tuple(differs))


def _run(store: SQLiteStore, row: LearnerRow, replay: Replay, until: int | None = None) -> None:
    events = in_order(store.learner_events(row.id, replay.seq), store.item_events(row.ranking, replay.seq))
    replay.run(event for event in events if until is None or event.seq <= until)
