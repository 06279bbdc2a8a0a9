"""Attacks with a stolen API key of the scope admin, on a ranking that honest visitors do not see."""

from __future__ import annotations

import asyncio
import uuid

from ..attacker import Attack, Attacker, message
from ..plan import FRONT, TARGET, WINDOW

POLICIES = (  # most are refused
    "cascade-ducb(eps=None)", "cascade-ducb(gamma=2)", "pbm-ucb(examination={})", "pbm-ucb(examination=[None])",
    "cascade-swucb", "cascade-swucb(changes=1e-320)", "bubble-rank(ranking=1j)", "top-rank(delta=nan)", "batch-rank",
    "cascade-kl-ucb(x=1)", "cascade-lin-ucb(sigma=1e400)", "lr(lr=inf)", "(((", "cascade-ucb1()" * 1000, "",
    "__import__('os')", "ranked-exp3(gamma=0)", "cascade-ts(a=-1)", "cascade-kl-ucb-cusum(forgets=[])",
    "cascade-ucb1(1,2,3,4)",
)  # fmt: skip
TRAINED = ("dcm-kl-ucb", "cascade-kl-ucb")  # which honest rankings have compiled already
NEW = ("pbm-ucb(examination=[0.5,0.5,0.5])", "top-rank(delta=0.1)", "cascade-ucb1", "cascade-ts")
THOUSAND = 1000
SLOWLY = 0.05  # seconds between two pieces of an export
TARGET_PATH = f"/v1/rankings/{TARGET}"


async def policy_strings(attacker: Attacker) -> None:
    """Policies that are hard to make."""
    steps = attacker.random.choice((None, 2**53 - 1))
    await _create(attacker, attacker.random.choice(POLICIES), steps)


async def new_policies(attacker: Attacker) -> None:
    """Policies that nobody has used before, and that are compiled."""
    await _create(attacker, attacker.random.choice(NEW), None)


async def _create(attacker: Attacker, policy: str, steps: int | None) -> None:
    """A ranking with that policy, which is deleted at once if it could be created."""
    name = f"made-up-{uuid.uuid4()}"
    spec = {"name": name, "positions": 3, "policy": policy, "steps": steps, "click_window": WINDOW}
    status, _ = await attacker.ask("admin", "POST", "/v1/rankings", spec)
    if status == 201:
        await attacker.ask("admin", "DELETE", f"/v1/rankings/{name}")


async def policy_patches(attacker: Attacker) -> None:
    """A list, and another policy, which is trained from the log."""
    await attacker.ask("serve", "POST", f"{TARGET_PATH}/lists", {"segment": f"segment-{attacker.random.randrange(9)}"})
    chance = attacker.random
    patch = {"policy": chance.choice((*TRAINED, *POLICIES[:4])), "train": chance.random() < 0.7}
    await attacker.ask("admin", "PATCH", TARGET_PATH, patch)


async def items_by_the_thousand(attacker: Attacker) -> None:
    """A thousand items put, hidden and removed, and a list of what is left."""
    first = attacker.random.randrange(3) * THOUSAND
    ids = [f"more-{n}" for n in range(first, first + THOUSAND)]
    hidden = attacker.random.random() < 0.5
    await attacker.ask("admin", "PUT", f"{TARGET_PATH}/items", {"items": [{"id": id, "hidden": hidden} for id in ids]})
    await attacker.ask("serve", "POST", f"{TARGET_PATH}/lists", {"segment": "items"})
    await attacker.ask("admin", "POST", f"{TARGET_PATH}/items/remove", {"ids": ids})


async def deleted_segments(attacker: Attacker) -> None:
    """A segment with a list, deleted at once with everything in it."""
    segment = f"gone-{attacker.random.randrange(50)}"
    await attacker.ask("serve", "POST", f"{TARGET_PATH}/lists", {"segment": segment})
    await attacker.ask("admin", "DELETE", f"{TARGET_PATH}/segments/{segment}")


async def slow_exports(attacker: Attacker) -> None:
    """The events of a ranking, read as slowly as the service lets it."""
    peer = await attacker.connect(receive_buffer=4096)
    key = f"Authorization: Bearer {attacker.key('admin')}\r\n"
    await peer.send(message("GET", f"/v1/rankings/{FRONT}/events", headers=key))
    attacker.count("held")
    while await peer.receive(2048):
        await asyncio.sleep(SLOWLY)
    attacker.close(peer)


async def large_items(attacker: Attacker) -> None:
    """A body of items near its limit with one fault, or one that stops before its end."""
    size = 15_000_000
    if attacker.random.random() < 0.2:
        await attacker.ask("admin", "PUT", f"{TARGET_PATH}/items", b'{"items":[' + b'{"id":"x"},' * 300_000 + b"1]}")
        return
    key = f"Authorization: Bearer {attacker.key('admin')}\r\nX-Filler: 1\r\n"
    head = message("PUT", f"{TARGET_PATH}/items", headers=f"{key}Content-Length: {size}\r\n")
    await attacker.hold(head.replace(b"Content-Length: 0\r\n", b"") + b" " * (size - 10))


ADMIN_KEY = [
    Attack("policy strings", "admin", 10.0, 10, policy_strings),
    Attack("new policies", "admin", 2.0, 2, new_policies),
    Attack("policy patches", "admin", 2.0, 4, policy_patches),
    Attack("items by the thousand", "admin", 2.0, 4, items_by_the_thousand),
    Attack("deleted segments", "admin", 10.0, 10, deleted_segments),
    Attack("slow exports", "admin", 5.0, 30, slow_exports),
    Attack("large items", "admin", 3.0, 20, large_items),
]
