"""Sends valid and invalid requests, generated from /openapi.json, to a running service: `make service-fuzz`.

Schemathesis makes the requests, in all its phases. They must find no 5xx, and every 4xx must be a problem+json as
described. The printed figure is the service's own count of its responses.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import httpx

from toplist.core.compiling import LIBRARY_VARIABLES
from toplist.service.api_keys import ApiKeySetting, settings_lines
from toplist.service.http.auth import hash_api_key, new_api_key

# A request that matches the schema may still be refused: the schema does not list policies or items.
EXCLUDED_CHECK = "positive_data_acceptance"
# How invalid data may be refused; 413 where a list is too long for a body as well.
REFUSED = "[checks.negative_data_rejection]\nexpected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422]\n"
ENDLESS = ("live", "live_overview")  # their replies last until as many states were sent as the request says
HOOKS = Path(__file__).with_name("fuzz_hooks.py")


class Outcome(NamedTuple):
    """The responses by status, and whether a check failed."""

    statuses: Counter[int]
    failed: bool
    told: str

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(self.statuses.values())

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} x {status}" for status, count in sorted(self.statuses.items()))
        broken = sum(count for status, count in self.statuses.items() if status >= 500)
        return f"{self.requests:,} requests, {broken} answered by 5xx: {counts}"


def fuzz(requests: int, examples: int, one_simulation_of: int = 1) -> Outcome:
    """Run rounds, with `examples` per operation at most, until `requests` are answered.

    Of valid requests for simulations that cover the schema, one in this many is sent: each takes a process.
    """
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TOPLIST_") or name in LIBRARY_VARIABLES
    }
    clean["FUZZ_ONE_SIMULATION_OF"] = str(one_simulation_of)
    api_key = new_api_key()
    with tempfile.TemporaryDirectory() as folder:
        key = ApiKeySetting(name="fuzz", scope="admin", sha256=hash_api_key(api_key))
        (Path(folder) / "toplist.toml").write_text(settings_lines(key))
        (Path(folder) / "schemathesis.toml").write_text(REFUSED)
        command = [sys.executable, "-m", "toplist", "serve", "--port", "0", "--set", "logs.requests=none"]
        command += ["--set", "limits.stranger_rate=0"]  # a missing key gets 401 however often
        command += ["--set", "playground.seconds=1"]  # of each simulation that is asked for
        with subprocess.Popen(command, cwd=folder, env=clean, stdout=subprocess.PIPE, text=True) as service:
            try:
                assert service.stdout is not None
                url = service.stdout.readline().split()[-1]
                seed, done = 0, Outcome(Counter(), False, "")
                while done.requests < requests and not done.failed:
                    seed += 1
                    done = _round(url, api_key, seed, examples, Path(folder), clean)
                    print(f"round {seed}: {done}", flush=True)
                return done
            finally:
                service.terminate()


def _round(url: str, api_key: str, seed: int, examples: int, folder: Path, environment: dict[str, str]) -> Outcome:
    authorization = {"authorization": f"Bearer {api_key}"}
    command = [
        sys.executable, "-W", "ignore", "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--phases",
        "examples,coverage,fuzzing,stateful", "--max-examples", str(examples), "--seed", str(seed), "--exclude-checks",
        EXCLUDED_CHECK, *(word for operation in ENDLESS for word in ("--exclude-operation-id", operation)),
        "--continue-on-failure", "--generation-database", "none",
        "--no-color", "--warnings", "off", "--request-timeout", "120", "--header", f"Authorization: Bearer {api_key}",
    ]  # fmt: skip
    environment = environment | {"SCHEMATHESIS_HOOKS": str(HOOKS)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    counted: Counter[int] = Counter()
    text = httpx.get(f"{url}/metrics", headers=authorization).text
    for status, count in re.findall(r'^toplist_requests_total\{.*status="(\d+)"\} (\S+)$', text, flags=re.MULTILINE):
        counted[int(status)] += int(float(count))
    broken = any(status >= 500 for status in counted)
    return Outcome(counted, done.returncode != 0 or broken, done.stdout + done.stderr)


def main() -> int:
    """Run the fuzzer from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000, help="least number of requests")
    parser.add_argument("--examples", type=int, default=100, help="examples per operation and round")
    arguments = parser.parse_args()
    outcome = fuzz(arguments.requests, arguments.examples)
    if outcome.failed:
        print(outcome.told)
    print(outcome)
    return int(outcome.failed)


if __name__ == "__main__":
    sys.exit(main())
