"""Run the benchmarks, print tables and list the targets missed: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import FULL, QUICK
from benchmarks.report import Table, as_json, insert_tables, machine, mark, markdown, render, summary
from benchmarks.sections import SECTIONS, edges


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the options, run the sections and print each when it is done."""
    known = SECTIONS | edges.pieces()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="How fast is toplist?")
    parser.add_argument("--quick", action="store_true", help="tiny problems: checks that it works, not how fast")
    parser.add_argument("--only", action="append", choices=list(known), help="this section; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also write all tables to this file, or to their marks in it"
    )
    options = parser.parse_args(arguments)

    facts = machine()
    print("\n".join(f"{name + ':':<11}{value}" for name, value in facts.items()), flush=True)
    content: dict[str, Any] = {"machine": facts, "quick": options.quick, "sections": {}}
    tables: list[Table] = []
    begun = time.monotonic()
    for name in options.only or SECTIONS:
        content["sections"][name] = []
        if options.quick:
            gc.freeze()  # some collect garbage before each measurement, which takes longer than all else of a quick run
        for table in known[name](QUICK if options.quick else FULL):
            print("\n" + render(table), flush=True)
            tables.append(table)
            content["sections"][name].append(as_json(table))
            if options.markdown is not None:  # after each table: a long run that is stopped has written some
                write_markdown(options.markdown, tables)
    took = f"{time.monotonic() - begun:.0f} s"
    print(
        f"\nQuick run: the numbers above mean nothing; {took}." if options.quick else f"\n{summary(tables)}\nIn {took}."
    )
    if options.json is not None:
        options.json.write_text(json.dumps(content, indent=1) + "\n")


def write_markdown(path: Path, tables: Sequence[Table]) -> None:
    """Write tables to a file, or in place of the older ones of a document that has marks for them."""
    document = path.read_text() if path.exists() else ""
    if any(mark(table) in document for table in tables):
        path.write_text(insert_tables(document, tables))
    else:
        path.write_text("\n\n".join(map(markdown, tables)) + "\n")


if __name__ == "__main__":
    main()
