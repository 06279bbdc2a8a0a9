"""Put promises to the test and print what was found, a line each: `python -m tests.service.promises --help`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from .broken import Broken
from .catalogue import PROMISES


def main(arguments: Sequence[str] | None = None) -> int:
    """All promises, or those that are named; 1 where one is broken."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.service.promises",
        description="Does toplist serve keep its promises?",
        epilog="promises:\n" + "\n".join(f"  {name:<18}{promise.says}" for name, promise in PROMISES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a promise; all where none is named")
    parser.add_argument("--short", action="store_true", help="the short form, as the tests run it")
    parser.add_argument("--planted", action="store_true", help="plant the faults that the checks must notice")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(PROMISES)
    if unknown:
        parser.error(f"there is no promise {', '.join(sorted(unknown))}; there are {', '.join(PROMISES)}")
    broken = 0
    for name in options.names or PROMISES:
        promise = PROMISES[name]
        if options.planted and not promise.fault:
            continue
        begun = time.monotonic()
        try:
            if options.planted:
                told, word = promise.noticed(), f"{promise.fault} noticed"
            else:
                told, word = promise.kept(options.short), "kept"
        except Broken as problem:
            told, word = str(problem), "BROKEN"
            broken += 1
        print(f"{name}: {word} in {time.monotonic() - begun:.0f} s: {told}", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
