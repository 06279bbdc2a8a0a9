"""Compiles a policy in a process of its own, which leaves the machine code on the disk.

The compiler takes hundreds of megabytes, which it never gives back, and holds the interpreter. In the service's own
process it would slow down every list, and break the limit of its memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from threading import Lock

from toplist.core.compiling import NotCached, only_cached
from toplist.policies.own import OwnSources, load_own_policies, loaded_sources
from toplist.service.errors import StoreUnavailable
from toplist.service.log import training
from toplist.service.log.events import decode_ranking, encode
from toplist.service.log.settings import LearnerSettings
from toplist.service.process_apart import command_apart

NICENESS = 5  # requests come first


class CompilerProcess:
    """At most one process that compiles; several threads may ask for one."""

    def __init__(self) -> None:
        self._turn = Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self._ended = False

    def compile(self, settings: LearnerSettings) -> None:
        """Load the machine code of a policy; if it is not on the disk, another process compiles it first.

        Where that leaves nothing on the disk, since nothing can be written there, it is compiled here.
        """
        try:
            with only_cached():
                training.compile_policy(settings)
            return
        except NotCached:
            pass
        with self._turn:
            self.run(encode(settings.event()))
        if self._ended:
            raise StoreUnavailable("The service stops before the policy is compiled; ask it again.")
        training.compile_policy(settings)

    def start(self) -> None:
        """Allow processes, again after `end`."""
        self._ended = False

    def end(self) -> None:
        """End the process, if one compiles, and start no other."""
        self._ended = True
        process = self.process
        if process is not None:
            with suppress(OSError):
                process.kill()

    def run(self, event: bytes) -> None:
        """Let another process compile the policy of a ranking's event, and wait for it."""
        if self._ended:
            return
        command = command_apart("toplist.service.live.compile_apart", NICENESS, json.dumps(loaded_sources()))
        with suppress(OSError):  # no memory for another process
            # Its own session: Ctrl-C in a terminal is for the service, which ends it.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
            self.process = process
            if self._ended:
                process.kill()
            try:
                process.communicate(event)
            finally:
                self.process = None


def main() -> None:
    """Compile the policy of the settings that stand on stdin; whatever is wrong with them is found again by others."""
    modules, installed = json.loads(sys.argv[1])
    load_own_policies(OwnSources(tuple(modules), installed))
    event = decode_ranking(sys.stdin.buffer.read())
    training.compile_policy(LearnerSettings.of(event, event.policy_seq))
