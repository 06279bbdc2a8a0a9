"""Rows of a change of a divided ranking as the other partitions have them, which count their own events.

Rankings, policies and measurings are named by the numbers of events. All divisions have the same events of the ranking
itself, in the same order, under numbers of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from toplist.service.errors import StoreUnavailable
from toplist.service.log.events import decode_ranking, encode
from toplist.service.log.settings import LearnerSettings
from toplist.service.store.row_kinds import (
    RANKING,
    DeletedRow,
    DeleteItem,
    DeleteRanking,
    DeleteSnapshots,
    EventRow,
    ItemRow,
    PartBefore,
    RankingRow,
    SharedChange,
    SnapshotRow,
)


def shared_change(
    id: int, before: LearnerSettings | None, name: str, divisions: int, rows: Sequence[Any]
) -> SharedChange:
    """A change of a ranking for its other partitions.

    Parameters
    ----------
    id : int
        Id of the ranking in its first partition, which decides.
    before : LearnerSettings or None
        Its settings there before the change; None if the change creates it.
    name : str
        Its name.
    divisions : int
        Number of its divisions.
    rows : sequence of rows
        The rows of the change there.
    """
    kept = [row for row in rows if type(row) is not SnapshotRow]  # learners of the others are trained when next used
    return SharedChange(name, divisions, lambda there: _rows_there(id, before, kept, there))


_FIELDS = ("policy_seq", "floor", "measured", "stopped", "first_list")  # which name events; alike in both classes


def _rows_there(id: int, before: LearnerSettings | None, rows: list[Any], there: PartBefore) -> list[object]:
    numbers = {0: 0}
    seq = there.last_seq
    for row in rows:
        if type(row) is EventRow:
            seq += 1
            numbers[row.seq] = seq
    if before is not None and there.ranking is None:
        raise StoreUnavailable(
            f"Division {there.division} of the ranking {before.name!r} is missing; toplist store check says where the "
            f"store is damaged."
        )
    own: LearnerSettings | None = None
    if there.ranking is not None:
        own = LearnerSettings.of(decode_ranking(there.ranking.settings), there.ranking.policy_seq)
        numbers[id] = there.ranking.id
    if before is not None and own is not None:
        numbers |= dict(zip(_named(before), _named(own), strict=True))
    return [_there(row, numbers, there) for row in rows]


def _named(settings: LearnerSettings) -> list[int]:
    """The events that settings name."""
    return [getattr(settings, field) for field in _FIELDS]


def _there(row: Any, numbers: dict[int, int], there: PartBefore) -> object:
    """A row with the numbers of another partition."""
    match row:
        case EventRow():
            body = _settings_there(row.body, numbers, there) if row.kind == RANKING else row.body
            at = max(row.at, there.last_time)  # times of a log do not fall
            return row._replace(seq=numbers[row.seq], at=at, ranking=numbers[row.ranking], body=body)
        case RankingRow():
            settings = _settings_there(row.settings, numbers, there)
            return row._replace(id=numbers[row.id], policy_seq=numbers[row.policy_seq], settings=settings)
        case DeletedRow():
            ranking = numbers[row.ranking]
            return DeletedRow(ranking, ranking - 1, numbers[row.last])
        case DeleteRanking():
            return DeleteRanking(numbers[row.id])
        case ItemRow() | DeleteItem() | DeleteSnapshots():
            return row._replace(ranking=numbers[row.ranking])
    raise TypeError(type(row).__name__)


def _settings_there(body: bytes, numbers: dict[int, int], there: PartBefore) -> bytes:
    event = decode_ranking(body)
    named = {field: numbers[getattr(event, field)] for field in _FIELDS}
    return encode(msgspec.structs.replace(event, **named, division=there.division))
