"""Reads the same log with Arrow, Polars and DuckDB on one core: `python -m benchmarks.log_engines [LISTS]`.

Each reads query, items and clicks into arrays with ids as codes. Arrow is `toplist.logs.read_log`, which also checks
every list; Polars and DuckDB only read. An engine that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from toplist.logs import IdTable, read_log
from toplist.logs.arrow import arrow
from toplist.logs.generated import GeneratedLog

ENGINES = ("arrow", "polars", "duckdb")
CASES = ("parquet", "tsv", "rows.parquet", "rows.csv")
SMALL = 20_000  # lists of the log that is read first, so that imports and compilation do not count


def write(folder: Path, lists: int, text_ids: bool) -> None:
    """The log in all formats."""
    lib, compute, csv = arrow.lib, arrow.compute, arrow.csv
    GeneratedLog(lists=lists, text_ids=text_ids).write_parts(folder / "parts", parts=1)
    table = arrow.parquet.read_table(folder / "parts" / "part-0000.parquet", columns=["query", "items", "clicked"])
    arrow.parquet.write_table(table, folder / "log.parquet", row_group_size=250_000)
    joined = {
        name: compute.binary_join(table[name].cast(lib.list_(lib.string())), ",") for name in ("items", "clicked")
    }
    plain = csv.WriteOptions(delimiter="\t", quoting_style="none", quoting_header="none")
    csv.write_csv(lib.table({"query": table["query"], **joined}), folder / "log.tsv", plain)
    lengths = compute.list_value_length(table["items"]).to_numpy()
    owner = np.repeat(np.arange(len(table)), lengths)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    click = np.zeros(len(owner), dtype=np.int8)
    begin = np.cumsum(lengths) - lengths
    clicks = compute.list_value_length(table["clicked"]).to_numpy()
    click[np.repeat(begin, clicks) + compute.list_flatten(table["clicked"]).to_numpy() - 1] = 1
    rows = lib.table({
        "list": owner, "query": table["query"].take(lib.array(owner)), "position": position,
        "item": compute.list_flatten(table["items"]), "click": click,
    })  # fmt: skip
    arrow.parquet.write_table(rows, folder / "log.rows.parquet", row_group_size=1_000_000)
    csv.write_csv(rows, folder / "log.rows.csv", csv.WriteOptions(quoting_style="none", quoting_header="none"))


def read_with_arrow(path: Path) -> int:
    return len(read_log(path, only=()))


def read_with_polars(path: Path) -> int:
    polars: Any = importlib.import_module("polars")

    def codes(column: Any) -> Any:
        distinct = column.unique(maintain_order=True)
        table = IdTable()
        numbers = polars.DataFrame({column.name: distinct, "code": table.encode(distinct.to_list())})
        return column.to_frame().join(numbers, on=column.name, how="left", maintain_order="left")["code"].to_numpy()

    if path.suffix == ".parquet":
        frame = polars.read_parquet(path)
    else:
        texts = {"query": polars.String, "items": polars.String, "clicked": polars.String, "item": polars.String}
        mark = "\t" if path.suffix == ".tsv" else ","
        frame = polars.read_csv(path, separator=mark, quote_char=None, schema_overrides=texts)
        if "items" in frame.columns:
            frame = frame.with_columns(polars.col("items", "clicked").str.split(","))
    codes(frame["query"])
    if "items" not in frame.columns:
        codes(frame["item"])
        (frame["list"].to_numpy(), frame["position"].to_numpy(), frame["click"].to_numpy())
        return int(frame["list"].n_unique())
    codes(frame["items"].explode())
    frame["items"].list.len().to_numpy()
    frame["clicked"].explode().cast(polars.Int64).to_numpy()
    return len(frame)


def read_with_duckdb(path: Path) -> int:
    duckdb: Any = importlib.import_module("duckdb")
    connection = duckdb.connect()
    connection.execute("set threads = 1")
    rows = ".rows." in path.name
    columns = "list, query, position, item, click" if rows else "query, items, clicked"
    source = f"'{path}'"
    if path.suffix != ".parquet":
        mark = "\t" if path.suffix == ".tsv" else ","
        source = f"read_csv('{path}', delim = '{mark}', quote = '', header = true, all_varchar = true)"
        if not rows:
            columns = "query, string_split(items, ',') as items, string_split(clicked, ',') as clicked"
    tables, lists, last = (IdTable(), IdTable()), 0, None
    for batch in connection.execute(f"select {columns} from {source}").to_arrow_reader(65_536):
        values = batch.column("item") if rows else batch.column("items").flatten()
        for table, column in zip(tables, (batch.column("query"), values), strict=True):
            encoded = column.dictionary_encode()
            table.encode(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()]
        if rows:
            owner = batch.column("list").to_numpy(zero_copy_only=False)
            lists += int((owner[1:] != owner[:-1]).sum()) + (len(owner) > 0 and owner[0] != last)
            last = owner[-1]
        else:
            lists += len(batch)
            batch.column("clicked").flatten().to_numpy(zero_copy_only=False)
    return lists


READERS = {"arrow": read_with_arrow, "polars": read_with_polars, "duckdb": read_with_duckdb}


def measure(engine: str, small: Path, path: Path) -> None:
    """Print CPU seconds and megabytes beyond those of reading the small log."""
    arrow.lib.set_cpu_count(1)
    arrow.lib.set_io_thread_count(1)
    READERS[engine](small)
    before, begin = peak_memory(), time.process_time()
    lists = READERS[engine](path)
    seconds = time.process_time() - begin
    print(f"{lists / seconds / 1e6:.2f} million lists/s, {peak_memory() - before:,.0f} MB")


def peak_memory() -> float:
    """Megabytes; what getrusage says may be the peak of the parent process."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) / 1024


def main(words: list[str]) -> None:
    """Measure everything, each in a process of its own."""
    if len(words) == 3:
        measure(words[0], Path(words[1]), Path(words[2]))
        return
    lists = int(words[0]) if words else 1_000_000
    settings = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for text_ids in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            homes = [Path(folder) / name for name in ("small", "large")]
            for home, size in zip(homes, (SMALL, lists), strict=True):
                write(home, size, text_ids)
            for case in CASES:
                for engine in ENGINES:
                    if engine != "arrow" and importlib.util.find_spec(engine) is None:
                        continue
                    paths = [str(home / f"log.{case}") for home in homes]
                    command = [sys.executable, "-m", "benchmarks.log_engines", engine, *paths]
                    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
                    kind = "texts" if text_ids else "integers"
                    print(f"{case:13} {kind:9} {engine:7} {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
