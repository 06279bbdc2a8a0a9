"""The event log for other programs: a line of JSON per event, or a Parquet file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from toplist.service.wire import Event
from toplist.support.files import check_writable, import_optional, replace_file

ROWS_AT_ONCE = 10_000


def ndjson(events: Iterable[Event]) -> Iterator[bytes]:
    """One line per event."""
    encode = msgspec.json.Encoder().encode
    for event in events:
        yield encode(event) + b"\n"


def write(events: Iterable[Event], path: Path) -> int:
    """Write events to a file, in the form that its name asks for; how many these were."""
    check_writable(path, "The export", tuple(FORMS))
    return FORMS[path.suffix](events, path)


def write_ndjson(events: Iterable[Event], path: Path) -> int:
    """Write events to a file, a line each; how many these were."""
    written = 0
    with replace_file(path, "The export") as new, open(new, "wb") as file:
        for line in ndjson(events):
            file.write(line)
            written += 1
    return written


def write_parquet(events: Iterable[Event], path: Path) -> int:
    """Write events to a Parquet file, their bodies as JSON text; how many these were."""
    arrow, parquet = import_optional("pyarrow", "parquet"), import_optional("pyarrow.parquet", "parquet")
    text = arrow.string()
    schema = arrow.schema(
        [("seq", arrow.int64()), *((name, text) for name in ("at", "ranking", "key", "kind", "impression", "body"))]
    )
    remaining = iter(events)
    written = 0
    with replace_file(path, "The export") as new, parquet.ParquetWriter(new, schema) as writer:
        while rows := list(islice(remaining, ROWS_AT_ONCE)):
            plain = [msgspec.structs.asdict(event) | {"body": bytes(event.body).decode()} for event in rows]
            writer.write_table(arrow.Table.from_pylist(plain, schema))
            written += len(rows)
    return written


FORMS: dict[str, Callable[[Iterable[Event], Path], int]] = {".ndjson": write_ndjson, ".parquet": write_parquet}
