"""Processes of `toplist serve` that are forked from one that has imported everything, which is most of a start.

`ForkedProcess` stands in for `subprocess.Popen`: a process of its own with its own environment, folder, output and
signals, killed and waited for like any other. Tests of the start itself use real ones.

This file is also the program of the process that forks. It reads requests from a socket, one message each, with file
descriptors for the standard streams and for a pipe into which it writes the exit status of the child.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, Any, Self

LONGEST = 1 << 20  # bytes of a request
STATUS = 4  # bytes of an exit status
STOPPED = 10.0  # seconds to wait for the process that forks


class ForkedProcess:
    """A Python program in a forked process.

    Parameters
    ----------
    args : sequence of str
        As for `subprocess.Popen`: the interpreter, `-W error` or nothing, `-m` and a module or a file, arguments.
    stdin, stdout, stderr : int, file or None
        A descriptor, a file, `subprocess.PIPE` or `subprocess.DEVNULL` for the last two, or None for that of this
        process.
    cwd : path
        Folder.
    env : mapping
        Environment; modules are also imported from the folders of its PYTHONPATH.
    text : bool
        Whether its output is read as text.
    start_new_session : bool
        Whether it leaves the session of this process.
    """

    def __init__(
        self, args: Sequence[str], *, cwd: str | os.PathLike[str], env: Mapping[str, str], stdin: Any = None,
        stdout: Any = None, stderr: Any = None, text: bool = False, start_new_session: bool = False,
    ) -> None:  # fmt: skip
        self.args = args
        self.returncode: int | None = None
        self.stdout, out = _stream(stdout, 1, text)
        self.stderr, err = _stream(stderr, 2, text)
        self._status, status = os.pipe()
        request = {"args": args[1:], "cwd": os.fspath(cwd), "env": dict(env), "session": start_new_session}
        server = _server()
        streams = [0 if stdin is None else stdin, out, err, status]
        socket.send_fds(server, [json.dumps(request).encode()], streams)
        self.pid = int(server.recv(64))
        os.close(status)
        for asked, descriptor in ((stdout, out), (stderr, err)):
            if asked in (subprocess.PIPE, subprocess.DEVNULL):
                os.close(descriptor)

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._read_status(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        code = self._read_status(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code

    def _read_status(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            self.returncode = os.waitstatus_to_exitcode(int.from_bytes(os.read(self._status, STATUS), "little"))
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill -9."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Wait for its end and for the rest of its output."""
        found: dict[str, Any] = {"stdout": None, "stderr": None}

        def read(name: str, stream: IO[Any]) -> None:
            if not stream.closed:
                found[name] = stream.read()
                stream.close()

        streams = {"stdout": self.stdout, "stderr": self.stderr}
        readers = [Thread(target=read, args=(name, stream)) for name, stream in streams.items() if stream is not None]
        for reader in readers:
            reader.start()
        self.wait(timeout)
        for reader in readers:
            reader.join()
        return found["stdout"], found["stderr"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait()


def _stream(asked: Any, own: int, text: bool) -> tuple[IO[Any] | None, int]:
    """What this process reads from, and what the other one writes to."""
    if asked == subprocess.PIPE:
        reading, writing = os.pipe()
        return os.fdopen(reading, "r" if text else "rb"), writing
    if asked == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_WRONLY)
    if asked is None:
        return None, own
    return None, asked if isinstance(asked, int) else asked.fileno()


@cache
def _server() -> socket.socket:
    """The process that forks, started by the first test that needs it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()

    def stop() -> None:
        ours.close()
        process.wait(STOPPED)

    atexit.register(stop)
    return ours


def _serve(requests: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork for every request until the other end is closed, and report the ends of children.

    In a child, it returns the request and the standard streams.
    """
    children: dict[int, tuple[int, int]] = {}  # their pid and the pipe for their status, by pidfd
    while True:
        waiting: list[Any] = [requests, *children]
        for ready in select.select(waiting, [], [])[0]:
            if ready is not requests:
                pid, pipe = children.pop(ready)
                _, status = os.waitpid(pid, 0)
                os.close(ready)
                with suppress(BrokenPipeError):  # nobody waits for it
                    os.write(pipe, status.to_bytes(STATUS, "little"))
                os.close(pipe)
                continue
            message, descriptors, _, _ = socket.recv_fds(requests, LONGEST, 4)
            if not message:
                return None
            *streams, pipe = descriptors
            pid = os.fork()
            if pid == 0:
                requests.close()
                for other, (_, its_pipe) in children.items():
                    os.close(other)
                    os.close(its_pipe)
                os.close(pipe)
                return json.loads(message), streams
            for stream in streams:
                os.close(stream)
            children[os.pidfd_open(pid)] = pid, pipe
            requests.send(str(pid).encode())


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Be the process that was asked for."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        if stream > 2:
            os.close(stream)
    if request["session"]:
        os.setsid()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [folder for folder in folders if folder and folder not in sys.path]
    args: list[str] = request["args"]
    if args[:2] == ["-W", "error"]:
        warnings.simplefilter("error")
        args = args[2:]
    if args[0] == "-m":
        sys.argv = args[1:]
        runpy.run_module(args[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = args
        runpy.run_path(args[0], run_name="__main__")


if __name__ == "__main__":
    sys.path += [str(Path(__file__).parent), str(Path(__file__).resolve().parents[2])]
    import double

    import toplist.cli.serve
    import toplist.service.run
    from toplist.core.compiling import compiled
    from toplist.core.randomness import branch
    from toplist.service.http import openapi

    assert double, toplist
    for with_keys in (False, True):
        openapi.document_json(with_keys=with_keys)
    compiled(branch)(1, 2)  # numba makes itself ready for its first function, which takes 0.2 s
    gc.collect()
    gc.freeze()  # what a child never changes is not copied
    if (asked := _serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        _become(*asked)
