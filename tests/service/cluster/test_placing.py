"""Partitions of rankings, and servers of partitions."""

from collections import Counter

from toplist.service.cluster.placing import partition_of, preferred_server
from toplist.service.log.impression_id import ImpressionIds, partition_of_id

PARTITIONS = 64


def places(servers: list[str]) -> list[str | None]:
    return [preferred_server(partition, servers) for partition in range(PARTITIONS)]


def test_rankings_are_spread_over_partitions() -> None:
    counts = Counter(partition_of(f"ranking-{n}", 16) for n in range(16_000))
    assert set(counts) == set(range(16))
    assert max(counts.values()) < 1200  # of 1,000 in the mean; the standard deviation is 31


def test_a_server_that_comes_or_goes_moves_its_own_share_alone() -> None:
    three, four = [f"10.0.0.{n}:1" for n in range(3)], [f"10.0.0.{n}:1" for n in range(4)]
    before, after = places(three), places(four)
    assert set(before) == set(three)
    assert {new for old, new in zip(before, after, strict=True) if new != old} == {four[3]}
    assert places(four[::-1]) == after
    assert preferred_server(0, []) is None


def test_ids_tell_their_partition_and_rise() -> None:
    for partition in (0, 5, 1023):
        ids = ImpressionIds(partition)
        made = [ids.next(1_700_000_000_000 + n // 3) for n in range(100)]
        assert {partition_of_id(id) for id in made} == {partition}
        assert made == sorted(set(made))
        assert {id[6] >> 4 for id in made} == {7}  # the version of the UUID
        assert {id[8] >> 6 for id in made} == {2}  # its variant
