"""The tables, version by version: a store is brought from its own to the latest when it is opened."""

from __future__ import annotations

import apsw

from toplist.core.problem import InvalidInput

# One script per version, never changed once it is released: a change is another script.
SCRIPTS = (
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, ranking INTEGER NOT NULL, learner INTEGER NOT NULL,
        kind TEXT NOT NULL, impression BLOB, body BLOB NOT NULL
    );
    CREATE INDEX events_of_learner ON events (learner, seq) WHERE learner > 0;
    CREATE INDEX events_of_ranking ON events (ranking, seq) WHERE learner = 0;
    CREATE TABLE impressions (
        id BLOB PRIMARY KEY, seq INTEGER NOT NULL, ranking INTEGER NOT NULL, learner INTEGER NOT NULL,
        state INTEGER NOT NULL, due INTEGER NOT NULL, report BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX impressions_due ON impressions (due) WHERE state < 2;
    CREATE TABLE requests (
        ranking INTEGER NOT NULL, request TEXT NOT NULL, digest BLOB NOT NULL, impression BLOB NOT NULL,
        at INTEGER NOT NULL, PRIMARY KEY (ranking, request)
    ) WITHOUT ROWID;
    CREATE TABLE learners (id INTEGER PRIMARY KEY, ranking INTEGER NOT NULL, key TEXT);
    CREATE UNIQUE INDEX learners_by_key ON learners (ranking, key);
    CREATE TABLE snapshots (
        learner INTEGER NOT NULL, base INTEGER NOT NULL, seq INTEGER NOT NULL, policy INTEGER NOT NULL,
        body BLOB NOT NULL, PRIMARY KEY (learner, base)
    );
    CREATE TABLE rankings (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created INTEGER NOT NULL, policy INTEGER NOT NULL,
        spec BLOB NOT NULL
    );
    CREATE TABLE items (
        ranking INTEGER NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, features BLOB, hidden INTEGER NOT NULL,
        PRIMARY KEY (ranking, id)
    ) WITHOUT ROWID;
    """,
    # For an index, no two keys that are NULL are alike, so there may be several such learners; the first was served.
    """
    DELETE FROM learners
        WHERE key IS NULL AND id NOT IN (SELECT min(id) FROM learners WHERE key IS NULL GROUP BY ranking);
    CREATE UNIQUE INDEX learners_without_key ON learners (ranking) WHERE key IS NULL;
    """,
    # What is left of rankings that were deleted: all of it, where this was not noted; the last event about such a
    # ranking says that it was deleted, and only lists were dropped after it.
    """
    CREATE TABLE gone (ranking INTEGER PRIMARY KEY, seq INTEGER NOT NULL, last INTEGER NOT NULL);
    INSERT INTO gone SELECT ranking, ranking - 1, max(seq) FROM events
        WHERE learner = 0 AND ranking NOT IN (SELECT id FROM rankings) GROUP BY ranking;
    DELETE FROM events WHERE seq > (SELECT min(last) FROM gone)
        AND seq > (SELECT last FROM gone WHERE gone.ranking = events.ranking);
    """,
)


def migrate(connection: apsw.Connection, scripts: tuple[str, ...] = SCRIPTS) -> None:
    """Bring the tables to the latest version, each step whole or not at all."""
    version = connection.pragma("user_version")
    if version > len(scripts):
        raise InvalidInput(
            f"The store has version {version}, but this toplist knows versions up to {len(scripts)}; use the toplist "
            f"that wrote it, or a later one."
        )
    for number, script in enumerate(scripts[version:], version + 1):
        try:
            # To the end, also of a script with an answer, where it would stop until that is taken.
            connection.execute(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;").fetchall()
        except apsw.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
