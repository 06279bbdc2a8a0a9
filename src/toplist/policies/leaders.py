"""How often each list, or each order of blocks, was the best known one: a table of fixed size."""

from __future__ import annotations

from toplist.core.compiling import helper
from toplist.core.slate import Floats, Ints

LEADERS = 1024  # leaders that are counted; a power of 2


@helper
def leader_name(hashed: int) -> int:
    """The name of a leader from its hash: 52 bits, which a memo can hold, and above 0."""
    return ((hashed >> 12) & ((1 << 52) - 1)) | 1


@helper
def times_led(names: Ints, led: Floats, name: int) -> float:
    """For how many lists a leader led."""
    slot = (name >> 1) & (LEADERS - 1)
    return led[slot] if names[slot] == name else 0.0


@helper
def count_lead(names: Ints, led: Floats, name: int) -> None:
    """Count a list of a leader; one with the same slot as another takes its place, and begins anew."""
    slot = (name >> 1) & (LEADERS - 1)
    if names[slot] != name:
        names[slot], led[slot] = name, 0.0
    led[slot] += 1.0
