"""Statements that are sent together and answered together, on libpq's own functions.

A cursor of psycopg for each statement takes several times the processor time of all the rest of a commit.
"""

from __future__ import annotations

import re
import select
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, Format
from psycopg.pq.abc import PGresult

REMEMBERED_TEXTS = 512
_PLACE = re.compile(r"%(?:\((\w+)\))?([sb])")
_DONE = ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK


class Statement(NamedTuple):
    """An SQL statement with its values, for places as psycopg has them: `%s`, `%b` (binary) or `%(name)s`."""

    text: str
    values: Sequence[Any] | dict[str, Any] = ()


class _Query(NamedTuple):
    text: bytes  # with places as PostgreSQL has them
    names: tuple[str, ...]  # of the values in their order; none if they come in order
    formats: tuple[PyFormat, ...]


class RoundTrip:
    """Runs statements of one connection, one round trip for all of them.

    Parameters
    ----------
    connection : psycopg.Connection
        The connection, which nothing else uses meanwhile.
    """

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._libpq = connection.pgconn
        self._values = Transformer(connection)
        self._poll = select.poll()
        self._poll.register(self._libpq.socket, select.POLLIN)

    def run(
        self, statements: Sequence[Statement], before: Sequence[Statement] = (), after: Sequence[Statement] = ()
    ) -> list[list[Any]]:
        """The rows of each statement, but not of those before and after; an error ends the use of the connection."""
        libpq = self._libpq
        libpq.enter_pipeline_mode()
        for statement in (*before, *statements, *after):
            query = _query(statement.text)
            values = statement.values
            if isinstance(values, dict):
                values = [values[name] for name in query.names]
            dumped = self._values.dump_sequence(values, query.formats) if values else None
            types, formats = (self._values.types, self._values.formats) if values else (None, None)
            libpq.send_query_params(query.text, dumped, types, formats, Format.BINARY)
        libpq.pipeline_sync()
        results = self._results()
        libpq.exit_pipeline_mode()
        return [self._rows(result) for result in results[len(before) : len(before) + len(statements)]]

    def _results(self) -> list[PGresult]:
        """The results of all statements, once all are there; reads while it sends, so that neither side waits."""
        libpq, results = self._libpq, list[PGresult]()
        is_sending = bool(libpq.flush())
        while True:
            self._poll.modify(libpq.socket, select.POLLIN | (select.POLLOUT if is_sending else 0))
            self._poll.poll()
            libpq.consume_input()
            if is_sending:
                is_sending = bool(libpq.flush())
            while not libpq.is_busy():
                result = libpq.get_result()  # None between two statements
                if result is None:
                    if libpq.status == ConnStatus.BAD:
                        raise psycopg.OperationalError("the connection is lost")
                elif result.status == ExecStatus.PIPELINE_SYNC:
                    return results
                elif result.status in _DONE:
                    results.append(result)
                else:
                    raise error_from_result(result)

    def _rows(self, result: PGresult) -> list[Any]:
        if not result.ntuples:
            return []
        self._values.set_pgresult(result)
        return self._values.load_rows(0, result.ntuples, tuple)


@lru_cache(REMEMBERED_TEXTS)
def _query(text: str) -> _Query:
    """A statement in the form of PostgreSQL.

    >>> _query("SELECT %(b)s, %(a)s, %(b)s").text
    b'SELECT $1, $2, $1'
    """
    names: list[str] = []
    formats: list[PyFormat] = []

    def place(found: re.Match[str]) -> str:
        name, kind = found.groups()
        if name is None or name not in names:
            names.append(name or "")
            formats.append(PyFormat.BINARY if kind == "b" else PyFormat.AUTO)
        return f"${(names.index(name) if name else len(names) - 1) + 1}"

    written = _PLACE.sub(place, text)
    return _Query(written.encode(), tuple(names), tuple(formats))
