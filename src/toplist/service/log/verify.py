"""Rebuilds every learner from the log alone, and compares it bit for bit with snapshots and with live learners."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import NamedTuple

from toplist.core.problem import InvalidInput
from toplist.service.errors import StoreUnavailable
from toplist.service.log.events import decode_learner, decode_quarantined, decode_ranking
from toplist.service.log.impression_id import id_text
from toplist.service.log.machines import are_comparable, split_machines
from toplist.service.log.replay import UNREADABLE, Replay, events_since, replay_from_log, replay_from_snapshot
from toplist.service.log.settings import LearnerSettings, settings_at_end
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import LEARNER, QUARANTINED, EventRow, LearnerRow

NAMED = 5  # events in a sentence

LiveBeliefs = Mapping[tuple[str, str | None], bytes]  # by name of the ranking and segment


class RebuiltLearner(NamedTuple):
    """A learner, rebuilt."""

    ranking: str
    segment: str | None
    learned: int  # lists
    belief: bytes
    differs_from: tuple[str, ...]  # "its snapshot", "the live one", "what the service would load", "the log"
    incomparable: tuple[str, ...] = ()  # the first and the third, if another kind of machine has computed them

    @property
    def difference(self) -> str:
        """The difference as a sentence."""
        what = " and ".join(self.differs_from)
        return f"The learner of {self.ranking!r} and segment {self.segment!r} differs from {what}."

    @property
    def remark(self) -> str:
        """What cannot be compared as a sentence."""
        what = " and ".join(self.incomparable)
        return (
            f"The learner of {self.ranking!r} and segment {self.segment!r} is not comparable on this machine with "
            f"{what}: one with another CPU, libm, numba or NumPy has computed that, and may have rounded otherwise."
        )


def rebuild_learners(
    reader: LogReader, live: LiveBeliefs | None = None, damaged: Container[int] = ()
) -> Iterator[RebuiltLearner]:
    """Rebuild all learners of a store, which may be in use; `live` beliefs must not change meanwhile.

    If the retention of a ranking has deleted events, its learners are rebuilt from the snapshots that replace them.
    Learners are not rebuilt if they, or their rankings, are `damaged`: compiled code trusts what was written.
    """
    for event in reader.events_of_kind(LEARNER):
        if event.ranking in damaged or event.seq in damaged:
            continue
        with reader.snapshot_reads():  # a service may change or delete the ranking meanwhile
            rebuilt = _rebuild_if_possible(reader, event, live)
        if rebuilt is not None:
            yield rebuilt


def _rebuild_if_possible(reader: LogReader, event: EventRow, live: LiveBeliefs | None) -> RebuiltLearner | None:
    """The learner that an event created, or why it cannot be rebuilt; None if its ranking is deleted."""
    name, segment = f"ranking {event.ranking}", None
    try:
        segment = decode_learner(event.body).segment
        settings = settings_at_end(reader.settings_events(event.ranking))
        if settings is None:
            return None
        name = settings.name
        return _rebuild(reader, settings, LearnerRow(event.seq, event.ranking, segment), live)
    except StoreUnavailable:
        raise
    except Exception as problem:  # of this learner alone: damaged rows may raise any
        reason = str(problem) if isinstance(problem, InvalidInput) else f"{type(problem).__name__}: {problem}."
        return RebuiltLearner(name, segment, 0, b"", (f"the log, from which it cannot be rebuilt: {reason}",))


def differences(reader: LogReader, live: LiveBeliefs | None = None) -> list[str]:
    """A sentence for every learner that differs from its replay of the log; an empty list if none does."""
    return [rebuilt.difference for rebuilt in rebuild_learners(reader, live) if rebuilt.differs_from]


def quarantined(reader: LogReader) -> Iterator[str]:
    """A sentence for every list and learner that a service has set aside."""
    for event in reader.events_of_kind(QUARANTINED):
        try:
            reason = decode_quarantined(event.body).reason
        except UNREADABLE as problem:
            reason = f"the reason cannot be read: {problem}"
        what = f"The learner of event {event.learner}"
        if event.impression is not None:
            what = f"The list {id_text(event.impression)}"
        yield f"{what} is in quarantine since event {event.seq}: {reason}"


def code_warnings(reader: LogReader, damaged: Container[int] = ()) -> Iterator[str]:
    """A sentence for every ranking whose learners were made with other code; not for damaged ones."""
    for row in reader.rankings():
        if row.id in damaged:
            continue
        try:
            warning = LearnerSettings.of(decode_ranking(row.settings), row.policy_seq).code_warning
        except UNREADABLE:  # told with its learners
            continue
        if warning is not None:
            yield warning


def _rebuild(reader: LogReader, settings: LearnerSettings, row: LearnerRow, live: LiveBeliefs | None) -> RebuiltLearner:
    base = reader.snapshot(row.id, settings.policy_seq, base=True)
    if base is not None:
        replay = replay_from_snapshot(settings, row, base, reader.event)
    else:
        replay = replay_from_log(reader, settings, row)
    kept = reader.snapshot(row.id, settings.policy_seq)
    differs_from: list[str] = []
    of_snapshot: list[str] = []
    is_comparable = True
    if kept is not None:
        run_to(reader, row, replay, kept.seq)
        kept_belief, machines = split_machines(kept.body)
        is_comparable = are_comparable(machines)
        if replay.ranker.to_bytes() != kept_belief:
            of_snapshot.append("its snapshot")
    run_to(reader, row, replay)
    belief = replay.ranker.to_bytes()
    if kept is not None:
        loaded = replay_from_snapshot(settings, row, kept, reader.event)
        run_to(reader, row, loaded)
        if loaded.ranker.to_bytes() != belief:
            of_snapshot.append("what the service would load")
    if is_comparable:
        differs_from += of_snapshot
    if replay.skipped:
        seqs = ", ".join(f"{event.seq} ({why})" for event, why in replay.skipped[:NAMED])
        more = f" and {len(replay.skipped) - NAMED} more" if len(replay.skipped) > NAMED else ""
        differs_from.append(f"the log, of which it cannot learn the events {seqs}{more}")
    if live is not None and live.get((settings.name, row.segment), belief) != belief:
        differs_from.append("the live one")
    incomparable = () if is_comparable else tuple(of_snapshot)
    return RebuiltLearner(settings.name, row.segment, replay.ranker.learned, belief, tuple(differs_from), incomparable)


def run_to(reader: LogReader, row: LearnerRow, replay: Replay, until: int | None = None) -> None:
    """Replay further events of a learner, to the end of the log or to an event."""
    events = events_since(reader, row, replay.seq)
    replay.run(event for event in events if until is None or event.seq <= until)
