"""Stands in for systemd: starts, stops and kills what a unit file says, as commands of a runbook ask for it.

A program `systemctl` sends its arguments over a socket, and so does a program `toplist`, whose processes are forked as
those of servers are: a start from nothing takes a second each.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from forking import ForkedProcess

PATIENCE = 60.0  # seconds
ASK = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({path!r})
    line.sendall(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]).encode() + b"\\n")
    code, out, err = json.loads(line.makefile().read())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""


class Units:
    """Services of one template unit, and others that are given as two functions.

    Parameters
    ----------
    unit : str
        Text of the template, whose name is toplist@.service.
    folder : Path
        Folder for the socket, the programs `systemctl` and `toplist`, and output.
    environment : mapping
        What is in the environment besides what the unit says.
    others : mapping
        What starts and stops other units, by name.
    """

    def __init__(
        self, unit: str, folder: Path, environment: Mapping[str, str],
        others: Mapping[str, tuple[Callable[[], None], Callable[[], None]]],
    ) -> None:  # fmt: skip
        self._unit, self._folder, self._environment, self._others = unit, folder, environment, others
        self.processes: dict[str, Any] = {}
        path = str(folder / "systemd.socket")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        for name in ("systemctl", "toplist"):
            program = folder / name
            program.write_text(ASK.format(python=sys.executable, path=path))
            program.chmod(0o755)
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Kill all that runs."""
        self._listener.close()
        for process in self.processes.values():
            process.kill()
            process.wait(PATIENCE)

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            with line:
                program, *arguments = json.loads(line.makefile().readline())
                told: tuple[int, str, str] = (0, "", "")
                try:
                    if program == "toplist":
                        told = self._run(arguments)
                    else:
                        self._control(*arguments)
                except Exception as problem:
                    told = (1, "", f"{program} {arguments}: {problem!r}\n")
                line.sendall(json.dumps(told).encode())

    def _run(self, arguments: list[str]) -> tuple[int, str, str]:
        """Run toplist to its end."""
        with ForkedProcess(
            [sys.executable, "-m", "toplist", *arguments], cwd=self._folder, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            out, err = process.communicate(PATIENCE)
            return process.wait(PATIENCE), out, err

    def _control(self, action: str, *names: str) -> None:
        flags = [name for name in names if name.startswith("-")]
        for name in names:
            if name in flags:
                continue
            if name in self._others:
                self._others[name][["start", "stop"].index(action)]()
            elif action == "kill":
                self.processes[name].send_signal(signal.Signals[f"SIG{flags[0].removeprefix('--signal=')}"])
                self.processes[name].wait(PATIENCE)
                assert self._value("Restart") == "always"
                self._start(name)
            elif action == "reload":
                assert self._value("ExecReload") == "/bin/kill -HUP $MAINPID"
                self.processes[name].send_signal(signal.SIGHUP)
                time.sleep(0.1)
                assert self.processes[name].poll() is None
            else:
                assert action in ("start", "stop", "restart"), action
                if action != "start":
                    self._stop(name)
                if action != "stop":
                    self._start(name)

    def _value(self, name: str) -> str:
        (found,) = re.findall(rf"^{name}=(.*)$", self._unit, re.MULTILINE)
        return str(found)

    def _start(self, name: str) -> None:
        template, port = re.fullmatch(r"(toplist@)(\d+)", name).groups()  # type: ignore[union-attr]
        program, *arguments = shlex.split(self._value("ExecStart").replace("%i", port))
        assert program.endswith("/bin/toplist")
        settings = Path(self._value("EnvironmentFile")).read_text().splitlines()
        given = dict(line.split("=", 1) for line in settings)
        with (self._folder / f"{template}{port}.log").open("ab") as output, Path(os.devnull).open("rb") as nothing:
            self.processes[name] = ForkedProcess(
                [sys.executable, "-m", "toplist", *arguments], cwd=self._folder, env={**self._environment, **given},
                stdin=nothing.fileno(), stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def _stop(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGTERM)
        assert self.processes[name].wait(PATIENCE) == 0, (self._folder / f"{name}.log").read_text()[-2000:]
