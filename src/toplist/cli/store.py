"""`toplist store`: backs up, copies, checks, exports or vacuums the store of a service."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist.cli.exit_codes import Exit
from toplist.cli.parser import add_command
from toplist.cli.serve import add_policies, add_set, settings_of

if TYPE_CHECKING:
    from toplist.policies.own import OwnSources

SQLITE_HEADER = b"SQLite format 3\0"
EXAMPLES = """examples:
  toplist store backup monday.db
  toplist store check --store monday.db
  toplist store export events.parquet --ranking front-page
  toplist store vacuum --store toplist.db
  toplist store copy postgresql://toplist@db.internal/shop --store toplist.db

All actions but vacuum are safe while the service runs; a vacuum needs it stopped,
and what a service does after a copy is not in it. A backup is an ordinary store:
toplist serve --store monday.db continues from it. An export holds the event log,
one event per line (.ndjson) or per row (.parquet).
"""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands, "store", run, "back up, copy, check, export or vacuum the store of a service", EXAMPLES
    )
    parser.add_argument(
        "action", choices=["backup", "copy", "check", "export", "vacuum"],
        help="backup: copy the store to a new file; copy: copy it to an empty store, a file or a PostgreSQL database; "
        "check: look for damage of the store, learn everything again from the event log, and compare it bit by bit "
        "with the store; export: write the event log to a file; vacuum: write the file anew, so that no trace is left "
        "of what was deleted",
    )  # fmt: skip
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="file to write for a backup or an export; store to write for a copy"
    )
    parser.add_argument("--ranking", metavar="NAME", help="ranking to export (default: all)")
    parser.add_argument("--config", metavar="FILE", help="file of settings (default: toplist.toml, if it exists)")
    parser.add_argument("--store", metavar="FILE", help="file of the store (default: toplist.db)")
    add_policies(parser)
    add_set(parser)


def run(arguments: Namespace) -> int:
    """Back up, copy, check, export or vacuum."""
    from toplist.core.problem import InvalidInput, refuse

    settings = settings_of(arguments)
    from toplist.service.store.address import is_database  # after the check that the service can run here

    setting = settings.store
    store = setting if is_database(setting) else Path(setting)
    if isinstance(store, Path) and not store.is_file():
        raise refuse("The store", str(store), "a file that exists", "name it with --store")
    if arguments.ranking is not None and arguments.action != "export":
        raise InvalidInput(f"--ranking says what to export; leave it out of a {arguments.action}.")
    if arguments.action in ("check", "vacuum"):
        if arguments.file is not None:
            raise InvalidInput(f"A {arguments.action} takes no further file; name the store with --store.")
        return check(store, settings.policies.sources) if arguments.action == "check" else vacuum(store)
    if arguments.file is None:
        action = arguments.action
        raise InvalidInput(f"The {action} needs a file to write to; write toplist store {action} FILE.")
    if arguments.action == "export":
        return export(store, arguments.file, arguments.ranking)
    if arguments.action == "copy":
        return copy(store, arguments.file, settings.cluster.partitions)
    return backup(store, arguments.file)


def open_store(store: Path | str) -> Any:
    """A reader of the store; a file of another kind is refused with its name."""
    from toplist.service.errors import StoreUnavailable
    from toplist.service.store.address import open_reader

    if isinstance(store, str):
        return open_reader(store)
    with store.open("rb") as file:
        header = file.read(len(SQLITE_HEADER))
    if header not in (b"", SQLITE_HEADER):
        raise StoreUnavailable(
            f"The store is {str(store)!r}, but must be a file that toplist serve wrote, which is an SQLite database; "
            f"name the store with --store, or restore a backup of it."
        )
    return open_reader(store)


def open_parts(store: Path | str) -> list[Any]:
    """Readers of all parts of the store; a file has one."""
    from toplist.service.store.address import open_parts as open_all

    return open_all(store) if isinstance(store, str) else [open_store(store)]


def copy(store: Path | str, target: str, partitions: int | None) -> int:
    """Copy the committed state of the store to an empty store, of the same kind or another, divided or not."""
    from toplist.service.cluster.placing import partition_of
    from toplist.service.log.copy_parts import copy_parts
    from toplist.service.store.address import checked_store, note_copied, note_divided, open_targets, shown_store
    from toplist.support.files import private_files
    from toplist.support.progress_bar import ShareBar
    from toplist.support.tables import count_text

    place = checked_store(target)
    with ExitStack() as opened:
        sources = [opened.enter_context(closing(part)) for part in open_parts(store)]
        opened.enter_context(private_files())
        targets = opened.enter_context(open_targets(place, partitions))
        bar = opened.enter_context(ShareBar(sys.stderr))
        copied = copy_parts(sources, targets, lambda name: partition_of(name, len(targets)), bar)
    if copied.until:
        note_copied(place, copied.until)
    if copied.has_divided:
        note_divided(place)
    print(f"{count_text(copied.rows, 'row')} of {shown_store(str(store))} are copied to {shown_store(target)}.")
    return Exit.FINE


def backup(store: Path | str, file: str) -> int:
    """Copy the committed state of the store to a new file."""
    from toplist.core.problem import refuse
    from toplist.support.files import check_writable, private_files, replace_file

    target = check_writable(file, "The backup")
    if target.exists():
        raise refuse("The backup", file, "a new file", "name another one, or remove it")
    with closing(open_store(store)) as reader, private_files(), replace_file(target, "The backup") as new:
        reader.backup(new)
    print(f"{store} is copied to {file}, {target.stat().st_size:,} bytes.")
    return Exit.FINE


def export(store: Path | str, file: str, ranking: str | None) -> int:
    """Write the event log of one ranking, or of all."""
    from toplist.service.log.export import events_of_store, write_events
    from toplist.service.store.address import shown_store
    from toplist.support.files import private_files
    from toplist.support.tables import count_text

    with ExitStack() as opened, private_files():
        parts = [opened.enter_context(closing(part)) for part in open_parts(store)]
        written = write_events(events_of_store(parts, ranking), Path(file))
    print(f"{count_text(written, 'event')} of {shown_store(str(store))} are written to {file}.")
    return Exit.FINE


def vacuum(store: Path | str) -> int:
    """Write the file anew; the service must be stopped."""
    from toplist.core.problem import InvalidInput
    from toplist.service.store.sqlite import SQLiteStore

    if isinstance(store, str):
        raise InvalidInput("A vacuum is for a store in a file; a database is vacuumed by its own tools.")
    open_store(store).close()  # refuses a file of another kind before anything is written
    before = store.stat().st_size
    with closing(SQLiteStore(store)) as opened:
        opened.vacuum()
    print(f"{store} is written anew, {store.stat().st_size:,} bytes instead of {before:,}.")
    return Exit.FINE


def check(store: Path | str, policies: OwnSources) -> int:
    """Print all damage of the file, what is in quarantine, and all learners that differ from the log.

    Rankings whose learners were made with other code of their policy are named, but are no fault.
    """
    from itertools import chain

    from toplist.policies.own import load_own_policies
    from toplist.service.errors import StoreUnavailable
    from toplist.service.log.division_readers import differing_divisions
    from toplist.service.log.tallies import differing_uplifts
    from toplist.service.log.verify import code_warnings, quarantined, rebuild_learners
    from toplist.support.tables import count_text

    damages = learners = differing = incomparable = 0
    load_own_policies(policies)
    with ExitStack() as opened:
        parts = [opened.enter_context(closing(part)) for part in open_parts(store)]
        for part, reader in enumerate(parts):
            damaged: set[int] = set()
            is_readable = True
            for damage in reader.find_damage():
                damages += 1
                if damage.owner is None:
                    is_readable = False
                else:
                    damaged.add(damage.owner)
                print(damage.text)
            if not is_readable:
                print("Nothing is rebuilt from the log, since the file itself is damaged.")
                continue
            try:
                for sentence in (*quarantined(reader), *code_warnings(reader, damaged)):
                    print(sentence)
                for rebuilt in rebuild_learners(reader, damaged=damaged):
                    learners += 1
                    if rebuilt.differs_from:
                        differing += 1
                        print(rebuilt.difference)
                    if rebuilt.incomparable:
                        incomparable += 1
                        print(rebuilt.remark)
                for sentence in chain(differing_uplifts(reader), differing_divisions(reader, part, len(parts))):
                    differing += 1
                    print(sentence)
            except StoreUnavailable as problem:
                damages += 1
                print(problem)
    checked = f"{count_text(learners, 'learner')} rebuilt from the log; what is kept differs in {differing}."
    if incomparable:
        checked += f" {count_text(incomparable, 'learner')} could not be compared on this machine."
    if not damages:
        print(f"The file is not damaged. {checked}")
    else:
        print(f"The file is damaged in {count_text(damages, 'place')}; restore a backup. {checked}")
    return Exit.BROKEN if damages or differing else Exit.FINE
