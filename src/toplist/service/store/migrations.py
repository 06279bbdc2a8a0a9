"""The tables, version by version: a store is brought from its own to the latest when it is opened."""

from __future__ import annotations

import apsw

from toplist.core.problem import InvalidInput
from toplist.service.store.digests import row_digest

APPLICATION_ID = 0x746F706C  # "topl": says whose file it is, in the header of the file
_FIRST_TABLES = frozenset(("events", "impressions", "requests", "learners", "snapshots", "rankings", "items"))


def _subtract_deleted(table: str, owner: str) -> str:
    """A trigger that subtracts deleted rows from the totals of their owner."""
    return f"""CREATE TRIGGER {table}_deleted AFTER DELETE ON {table} BEGIN
        INSERT INTO totals VALUES ({owner}, -1, -old.row_digest) ON CONFLICT (owner) DO UPDATE
            SET row_count = row_count - 1, digest_sum = digest_sum - old.row_digest;
    END;
    """


_SUBTRACT_DELETED = "".join(
    _subtract_deleted(table, owner)
    for table, owner in (
        ("events", "CASE old.learner WHEN 0 THEN old.ranking ELSE old.learner END"), ("impressions", "old.learner"),
        ("requests", "old.ranking"), ("learners", "old.ranking"), ("snapshots", "old.learner"), ("rankings", "0"),
        ("items", "old.ranking"), ("gone", "0"), ("gone_learners", "0"),
    )
)  # fmt: skip

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
    # A digest per row. Per owner, a learner or a ranking, the number of rows and the sum of their digests: whoever
    # inserts adds to them, and triggers subtract what is deleted or replaced.
    f"""
    PRAGMA application_id = {APPLICATION_ID};
    ALTER TABLE events ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE impressions ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE requests ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE learners ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE snapshots ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE rankings ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE items ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE gone ADD COLUMN row_digest INTEGER NOT NULL DEFAULT 0;
    UPDATE events SET row_digest = digest_of(seq, at, ranking, learner, kind, impression, body);
    UPDATE impressions SET row_digest = digest_of(id, seq, ranking, learner, state, due, report);
    UPDATE requests SET row_digest = digest_of(ranking, request, digest, impression, at);
    UPDATE learners SET row_digest = digest_of(id, ranking, key);
    UPDATE snapshots SET row_digest = digest_of(learner, base, seq, policy, body);
    UPDATE rankings SET row_digest = digest_of(id, name, created, policy, spec);
    UPDATE items SET row_digest = digest_of(ranking, id, place, features, hidden);
    UPDATE gone SET row_digest = digest_of(ranking, seq, last);
    CREATE TABLE totals (owner INTEGER PRIMARY KEY, row_count INTEGER NOT NULL, digest_sum INTEGER NOT NULL);
    INSERT INTO totals SELECT owner, count(*), sum(row_digest) FROM (
        SELECT CASE learner WHEN 0 THEN ranking ELSE learner END AS owner, row_digest FROM events
        UNION ALL SELECT learner, row_digest FROM impressions
        UNION ALL SELECT ranking, row_digest FROM requests
        UNION ALL SELECT ranking, row_digest FROM learners
        UNION ALL SELECT learner, row_digest FROM snapshots
        UNION ALL SELECT 0, row_digest FROM rankings
        UNION ALL SELECT ranking, row_digest FROM items
        UNION ALL SELECT 0, row_digest FROM gone
    ) GROUP BY owner;
    CREATE TABLE gone_learners (
        learner INTEGER PRIMARY KEY, ranking INTEGER NOT NULL, row_digest INTEGER NOT NULL
    );
    {_SUBTRACT_DELETED}
    CREATE TRIGGER impressions_changed AFTER UPDATE ON impressions BEGIN
        UPDATE totals SET digest_sum = digest_sum + new.row_digest - old.row_digest WHERE owner = new.learner;
    END;
    CREATE TRIGGER totals_empty AFTER UPDATE ON totals WHEN new.row_count = 0 AND new.digest_sum = 0 BEGIN
        DELETE FROM totals WHERE owner = new.owner;
    END;
    """,
    # The file is vacuumed once, so that nothing is left of rows that were deleted and not overwritten.
    "",
    # Items have priors. A row that differs from its digest keeps doing so.
    f"""
    CREATE TABLE new_items (
        ranking INTEGER NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL, features BLOB, hidden INTEGER NOT NULL,
        prior BLOB, row_digest INTEGER NOT NULL, PRIMARY KEY (ranking, id)
    ) WITHOUT ROWID;
    INSERT INTO new_items SELECT ranking, id, place, features, hidden, NULL,
        CASE WHEN row_digest = digest_of(ranking, id, place, features, hidden)
            THEN digest_of(ranking, id, place, features, hidden, NULL) ELSE row_digest END FROM items;
    UPDATE totals SET digest_sum = digest_sum
        + coalesce((SELECT sum(row_digest) FROM new_items WHERE ranking = owner), 0)
        - coalesce((SELECT sum(row_digest) FROM items WHERE ranking = owner), 0);
    DROP TABLE items;
    ALTER TABLE new_items RENAME TO items;
    {_subtract_deleted("items", "old.ranking")}
    """,
    # Sums of the uplift: of both groups, and of each visitor.
    f"""
    CREATE TABLE tallies (
        ranking INTEGER NOT NULL, measured INTEGER NOT NULL, slice TEXT NOT NULL, visitor BLOB NOT NULL,
        body BLOB NOT NULL, row_digest INTEGER NOT NULL, PRIMARY KEY (ranking, slice, visitor, measured)
    ) WITHOUT ROWID;
    {_subtract_deleted("tallies", "old.ranking")}
    """,
)
_VACUUM_BEFORE = 5  # versions before this one did not overwrite what they deleted
WITH_DIGESTS = 4  # the first version whose rows have digests
WITH_PRIORS = 6  # the first version whose items have priors
WITH_TALLIES = 7  # the first version that has tallies


def foreign_reason(connection: apsw.Connection) -> str | None:
    """Why an SQLite file is not a store; None if it is one, or is empty."""
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    if application == APPLICATION_ID:
        return None
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    is_empty = not tables and version == 0
    is_older = tables >= _FIRST_TABLES and 0 < version < WITH_DIGESTS  # had no application id
    if application == 0 and (is_empty or is_older):
        return None
    named = f"with the application id {application}" if application else f"with {len(tables)} tables of its own"
    return f"it is an SQLite file of another program, {named}"


def empty_reason(connection: apsw.Connection) -> str | None:
    """Why an SQLite file without tables is not a store; None if it has some."""
    has_tables = connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)").get
    return None if has_tables else "it is empty"


def migrate(connection: apsw.Connection, scripts: tuple[str, ...] = SCRIPTS) -> None:
    """Bring the tables to the latest version, each step whole or not at all."""
    connection.create_scalar_function("digest_of", row_digest)
    version = connection.pragma("user_version")
    if version > len(scripts):
        raise InvalidInput(
            f"The store has version {version}, but this toplist knows versions up to {len(scripts)}; use the toplist "
            f"that wrote it, or a later one."
        )
    for number, script in enumerate(scripts[version:], version + 1):
        try:
            if number == _VACUUM_BEFORE:
                connection.execute("VACUUM")
            # To the end, also of a script with an answer, where it would stop until that is taken.
            connection.execute(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;").fetchall()
        except apsw.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
