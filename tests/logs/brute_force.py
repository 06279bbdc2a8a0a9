"""The probability of every click pattern of a list: a sum over hidden states, straight from each model's definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toplist.logs.models import MODELS

Coins = Mapping[Any, Any]  # probability by the name of a coin, as ("attraction", item) or ("examination", "2 after 1")
Outcome = tuple[bool, Any, Any]  # click, what the next position needs to know, probability
GONE = "gone"


def toss(probability: Any) -> Iterator[tuple[bool, Any]]:
    yield True, probability
    yield False, 1 - probability


def cascade(coins: Coins, _: int, item: int, here: Any) -> Iterator[Outcome]:
    for attracted, p in toss(coins["attraction", item]):
        yield attracted, GONE if attracted else here, p


def dcm(coins: Coins, place: int, item: int, here: Any) -> Iterator[Outcome]:
    for attracted, p in toss(coins["attraction", item]):
        if not attracted:
            yield False, here, p
            continue
        for left, q in toss(coins["termination", str(place)]):
            yield True, GONE if left else here, p * q


def dbn(coins: Coins, _: int, item: int, here: Any) -> Iterator[Outcome]:
    for attracted, p in toss(coins["attraction", item]):
        for satisfied, q in toss(coins["satisfaction", item]) if attracted else [(False, 1)]:
            for persists, r in toss(coins.get(("persistence", ""), 1)):
                yield attracted, here if persists and not satisfied else GONE, p * q * r


def ccm(coins: Coins, _: int, item: int, here: Any) -> Iterator[Outcome]:
    for attracted, p in toss(coins["attraction", item]):
        for relevant, q in toss(coins["attraction", item]) if attracted else [(False, 1)]:
            what = "nothing" if not attracted else "a relevant item" if relevant else "an irrelevant item"
            for goes_on, r in toss(coins["continuation", f"after {what}"]):
                yield attracted, here if goes_on else GONE, p * q * r


def pbm(coins: Coins, place: int, item: int, here: Any) -> Iterator[Outcome]:
    for examined, p in toss(coins["examination", str(place)]):
        for attracted, q in toss(coins["attraction", item]):
            yield examined and attracted, here, p * q


def ubm(coins: Coins, place: int, item: int, last: Any) -> Iterator[Outcome]:
    label = f"{place} after {last}" if last else f"{place} without clicks"
    for examined, p in toss(coins["examination", label]):
        for attracted, q in toss(coins["attraction", item]):
            yield examined and attracted, place if examined and attracted else last, p * q


def rate(name: Callable[[int, int], Any]) -> Callable[[Coins, int, int, Any], Iterator[Outcome]]:
    def clicks(coins: Coins, place: int, item: int, here: Any) -> Iterator[Outcome]:
        for clicked, p in toss(coins[name(place, item)]):
            yield clicked, here, p

    return clicks


STEPS: dict[str, Callable[[Coins, int, int, Any], Iterator[Outcome]]] = {
    "global-ctr": rate(lambda _, __: ("rate", "")),
    "position-ctr": rate(lambda place, _: ("rate", str(place))),
    "item-ctr": rate(lambda _, item: ("rate", item)),
    "item-position-ctr": rate(lambda place, item: (f"rate at {place}", item)),
    "cascade": cascade, "dcm-counts": dcm, "dcm": dcm, "sdbn-counts": dbn, "sdbn": dbn, "dbn": dbn, "pbm": pbm,
    "ubm": ubm, "ccm": ccm,
}  # fmt: skip


def pattern_chances(model: str, coins: Coins, items: Sequence[int]) -> dict[tuple[int, ...], Any]:
    """The probability of every pattern of clicks on a list."""
    found: dict[tuple[int, ...], Any] = defaultdict(int)

    def walk(place: int, state: Any, clicks: tuple[int, ...], chance: Any) -> None:
        if place > len(items):
            found[clicks] += chance
        elif state == GONE:
            walk(place + 1, GONE, (*clicks, 0), chance)
        else:
            for clicked, state_below, p in STEPS[model](coins, place, items[place - 1], state):
                walk(place + 1, state_below, (*clicks, int(clicked)), chance * p)

    walk(1, 0, (), 1)
    return found


def coin_names(model: str, items: int, positions: int) -> list[Any]:
    """The coins in the order of a fit: those of the items, then the shared ones."""
    coins = MODELS[model]._replace(positions=positions).coins()  # type: ignore[attr-defined]  # a NamedTuple
    return [(kind, item) for item in range(items) for kind in coins.own] + list(coins.shared)
