"""Promise 5: whatever Schemathesis makes of the OpenAPI document, no answer is a 5xx and every 4xx is problem+json."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from benchmarks.server import Broken, serving

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,unsupported_method"
)


def check(folder: Path, requests: int, examples: int, seed: int = 8) -> str:
    """All phases with so many examples of each operation, until there were so many requests; how many there were."""
    rounds, counted = 0, 0
    with serving(folder / "fuzzed.db") as server:
        while counted < requests:
            rounds += 1
            command = [
                sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json",
                "--phases", "examples,coverage,fuzzing,stateful", "--max-examples", str(examples),
                "--seed", str(seed + rounds), "--checks", CHECKS, "--suppress-health-check", "all",
            ]  # fmt: skip
            ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
            if ran.returncode != 0:
                raise Broken(f"Schemathesis found something:\n{ran.stdout[-8000:]}{ran.stderr[-2000:]}")
            counted = _answers(server.ask_raw("GET", "/metrics")[1].decode())
        server.end()
    told = server.told.read_text()
    if "unforeseen" in told:
        raise Broken(f"the server met something unforeseen:\n{server.last_words()}")
    return f"{counted} requests in {rounds} rounds of all phases: no 5xx, every 4xx a problem+json"


def _answers(metrics: str) -> int:
    """How many requests were answered; none of them with a 5xx."""
    counts = re.findall(r'^toplist_requests_total\{.*status="(\d+)".*\} (\S+)$', metrics, re.MULTILINE)
    bad = {status: number for status, number in counts if status >= "500"}
    if bad:
        raise Broken(f"there were answers with {bad}")
    return round(sum(float(number) for _, number in counts))
