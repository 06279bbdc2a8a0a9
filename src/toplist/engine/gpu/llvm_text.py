"""Marks in LLVM's language, as text, that keep code short."""

from __future__ import annotations

import re

# The head of a routine whose arguments are numbers: the only pointer is that of the result.
ROUTINE = re.compile(r'^define .*@"_ZN7toplist[^(]*\([^*(]*\*[^*]*\)$', re.MULTILINE)
LABEL, TARGETS = re.compile(r'^"?([^"\s:]+)"?:'), re.compile(r'label %"?([^",\s]+)')
MARK = 9_000_000  # number of the first mark; the compiler numbers its own from 0


def keep_routines(text: str) -> str:
    """Code whose functions of numbers alone are called, not inlined."""
    return ROUTINE.sub(r"\g<0> noinline", text)


def keep_loops(text: str) -> str:
    """Code whose loops are not to be unrolled: a branch to a block above it closes a loop."""
    above: set[str] = set()
    loops, lines = 0, []
    for line in text.split("\n"):
        mark = ""
        if line.startswith("define"):
            above = set()
        elif label := LABEL.match(line):
            above.add(label[1])
        elif line.startswith("  br ") and not above.isdisjoint(TARGETS.findall(line)):
            loops += 1
            mark = f", !llvm.loop !{MARK + loops}"
        lines.append(line + mark)
    marks = [f"!{MARK + loop} = distinct !{{!{MARK + loop}, !{MARK}}}" for loop in range(1, loops + 1)]
    return "\n".join([*lines, f'!{MARK} = !{{!"llvm.loop.unroll.disable"}}', *marks])
