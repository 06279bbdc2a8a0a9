"""A log prepared for fits on a Ray cluster: its parts are read by tasks, and partitions of queries live in actors.

Only ids and sums travel to the process that fits: the lists go from the tasks that read them to the actors.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, whole
from toplist.logs.click_log import ClickLog
from toplist.logs.fitting.fit_data import PARTITIONS, PartitionSummary, buckets, split_rows, start_partition, summarise
from toplist.logs.fitting.maximise import Workers
from toplist.logs.fitting.prior import Prior
from toplist.logs.id_table import Codes, Id, IdTable
from toplist.logs.list_hashes import ListHasher, LogDigest
from toplist.logs.random_rows import random_rows
from toplist.logs.stored_patterns import PatternWriter, StoredPatterns
from toplist.support.files import AnyPath, import_optional
from toplist.support.ray_cluster import RayCluster


class ListBlock(NamedTuple):
    """Lists of one part for one partition, with the codes of that part."""

    query: Codes
    start: Any
    item: Codes
    click: Any
    weight: Any
    row: Any  # number of each list in the part


class FileFacts(NamedTuple):
    """What is known of a part: its ids, its lists, and what was read and skipped."""

    queries: list[Id]
    items: list[Id]
    digest: LogDigest
    report: str


class PartitionHost:
    """Some partitions, in an actor."""

    def __init__(self, numbers: Sequence[int], holdout: float, seed: int) -> None:
        self._holdout, self._seed = holdout, seed
        self._home = Path(tempfile.mkdtemp(prefix="toplist-fit-"))
        self._writers = {number: PatternWriter(self._home / str(number)) for number in numbers}
        self._stored: list[StoredPatterns] = []
        self._parts: list[Any] = []

    def add(self, number: int, block: ListBlock, first_row: int, query_codes: Codes, item_codes: Codes) -> None:
        """Add the lists of a part that are not held out; codes are translated to those of the whole log."""
        empty = IdTable()
        log = ClickLog(
            empty, empty, query_codes[block.query], np.array(block.start), item_codes[block.item],
            np.array(block.click), weight=np.array(block.weight),
        )  # fmt: skip
        if self._holdout > 0 and len(log):
            last = int(block.row[-1]) + 1  # rows ascend
            log = log.take(~random_rows(last, first_row, self._holdout, self._seed)[block.row])
        self._writers[number].add(log)

    def finish(self) -> list[PartitionSummary]:
        """Store the partitions."""
        self._stored = [writer.finish() for writer in self._writers.values()]
        return [summarise(part) for part in self._stored]

    def begin(self, packed: bytes) -> None:
        """Begin a fit."""
        model, priors, per_query = import_optional("ray.cloudpickle", "ray").loads(packed)
        self._parts = [start_partition(part, model, priors, per_query) for part in self._stored]

    def each(self, method: str, packed: bytes) -> list[Any]:
        """Call a method of every partition."""
        # Pickled by the caller: arrays that Ray deserialises are read-only, another type to numba.
        arguments = import_optional("ray.cloudpickle", "ray").loads(packed)
        return [getattr(part, method)(*arguments) for part in self._parts]

    def close(self) -> None:
        """Delete the files."""
        shutil.rmtree(self._home, ignore_errors=True)


class RayWorkers:
    """The partitions of a fit in actors."""

    def __init__(self, ray: Any, hosts: Sequence[Any], order: Sequence[int]) -> None:
        self._ray, self._hosts, self._order = ray, hosts, order
        self._pickle = import_optional("ray.cloudpickle", "ray")

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every partition; results in the order of the partitions."""
        packed = self._pickle.dumps(arguments)
        found = self._ray.get([host.each.remote(method, packed) for host in self._hosts])
        return in_order([result for results in found for result in results], self._order)


def in_order(results: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """Results sorted by the number of their partition."""
    return [results[at] for at in np.argsort(np.asarray(order), kind="stable")]


class RayData:
    """Partitions in the actors of a Ray cluster; close it to end them.

    Parameters
    ----------
    cluster : RayCluster
        The connection.
    queries, items : IdTable
        The ids behind the codes.
    hosts : sequence
        The actors.
    order : sequence of int
        Numbers of the partitions, host by host.
    summaries : sequence of PartitionSummary
        The partitions in the order of their numbers.
    files : sequence of FileFacts
        The parts that were read.
    """

    def __init__(
        self,
        cluster: RayCluster,
        queries: IdTable,
        items: IdTable,
        hosts: Sequence[Any],
        order: Sequence[int],
        summaries: Sequence[PartitionSummary],
        files: Sequence[FileFacts],
    ) -> None:
        self.queries, self.items, self.files = queries, items, files
        self._cluster, self._hosts, self._order, self._summaries = cluster, hosts, order, summaries

    def summaries(self) -> Sequence[PartitionSummary]:
        """The partitions."""
        return self._summaries

    def workers(self, model: Any, priors: Mapping[str, Prior], per_query: bool) -> Workers:
        """The partitions at the beginning of a fit."""
        packed = import_optional("ray.cloudpickle", "ray").dumps((model, dict(priors), per_query))
        self._cluster.ray.get([host.begin.remote(packed) for host in self._hosts])
        return RayWorkers(self._cluster.ray, self._hosts, self._order)

    def call_for_each(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], shared: Any
    ) -> list[Any]:
        """Call a function on the workers, with each of some arguments and one object that all calls share.

        Parameters
        ----------
        function : callable
            Takes the arguments of a call and the shared object.
        arguments : sequence of tuple
            The arguments of each call.
        shared : object
            Sent to each machine once.

        Returns
        -------
        list
            The results.
        """
        ray = self._cluster.ray
        common = ray.put(shared)
        task = ray.remote(call_with)
        found: list[Any] = ray.get([task.remote(function, each, common) for each in arguments])
        return found

    def close(self) -> None:
        """Delete the files, end the actors, and disconnect."""
        self._cluster.ray.get([host.close.remote() for host in self._hosts])
        for host in self._hosts:
            self._cluster.ray.kill(host)
        self._cluster.disconnect()

    def __enter__(self) -> RayData:
        """Use as a context manager: it is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def call_with(function: Callable[..., Any], arguments: tuple[Any, ...], shared: Any) -> Any:
    """Call a function, on a worker."""
    return function(*arguments, shared)


def read_blocks(read: Callable[[AnyPath], ClickLog], path: AnyPath, partitions: int) -> tuple[Any, ...]:
    """Read a part on a worker: what is known of it, then a block of lists for each partition."""
    log = read(path)
    blocks = []
    for rows in split_rows(buckets(log.queries, 0, partitions)[log.query], partitions):
        some = log.take(rows)
        blocks.append(ListBlock(some.query, some.start, some.item, some.click, some.weights, rows))
    report = "" if log.report is None else str(log.report)
    return FileFacts(list(log.queries), list(log.items), ListHasher().digest(log), report), *blocks


def prepare_on_ray(
    paths: Sequence[AnyPath],
    read: Callable[[AnyPath], ClickLog],
    *,
    address: str | None = None,
    workers: int | None = None,
    partitions: int = PARTITIONS,
    holdout: float = 0.0,
    seed: int = 0,
) -> RayData:
    """Prepare a log whose parts are files that all workers of a Ray cluster can read.

    Parameters
    ----------
    paths : sequence of str or path-like
        The parts, such as the Parquet files of a folder; each fits in a worker's memory.
    read : callable
        Reads a part; it runs on the workers.
    address : str, optional
        Address of a running cluster, such as "auto"; by default a local one is started.
    workers : int, optional
        Number of workers of a local cluster; by default all cores.
    partitions : int, default 16
        Number of partitions.
    holdout : float, default 0
        Share of lists to leave out, drawn by their number in the log.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    RayData
        The partitions, in actors.

    Raises
    ------
    InvalidInput
        If there are no parts.
    """
    count = whole("The number of partitions", partitions, 1, "give at least one")
    if not paths:
        raise InvalidInput("The log has no parts, but a fit needs lists; give a folder with some.")
    cluster = RayCluster(address, workers)
    ray = cluster.ray
    try:
        cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        shares = [list(range(first, count, cores)) for first in range(min(cores, count))]
        # Actors take no core for themselves: they work while the reading tasks do not.
        hosts = [ray.remote(PartitionHost).options(num_cpus=0).remote(share, holdout, seed) for share in shares]
        host_of = {number: host for share, host in zip(shares, hosts, strict=True) for number in share}
        task = ray.remote(read_blocks).options(num_returns=count + 1)
        pending = [task.remote(read, path, count) for path in paths]
        queries, items = IdTable(), IdTable()
        added, files, row = [], [], 0
        for facts, *blocks in pending:
            part = ray.get(facts)
            codes = ray.put(queries.encode(part.queries)), ray.put(items.encode(part.items))
            added += [host_of[number].add.remote(number, block, row, *codes) for number, block in enumerate(blocks)]
            row += part.digest.lists
            files.append(part)
        ray.get(added)
        found = ray.get([host.finish.remote() for host in hosts])
    except BaseException:
        cluster.disconnect()
        raise
    order = [number for share in shares for number in share]
    summaries = in_order([each for one in found for each in one], order)
    return RayData(cluster, queries, items, hosts, order, summaries, files)
