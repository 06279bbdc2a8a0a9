"""Build the wheel, install it in an empty environment and use it there: `make wheel`.

Then the same with `pip install .`, as from a clone. Packages come from wherever pip gets them, in the locked versions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = {"llvmlite", "numba", "numpy", "toplist"}  # what an installation without extras consists of
WITHOUT_PLOTS = 'this needs matplotlib, which cannot be imported; install it with: pip install "toplist[plots]"'
WITHOUT_REPORT = 'this needs jinja2, which cannot be imported; install it with: pip install "toplist[report]"'
WITHOUT_SERVE = 'this needs apsw, which cannot be imported; install it with: pip install "toplist[serve]"'
WITHOUT_FRAMES = 'this needs pandas, which cannot be imported; install it with: pip install "toplist[frames]"'


def run(*command: str | Path, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A command that must end with this code; nothing of the surrounding environment's Python reaches it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def expect(right: bool, what: str) -> None:
    """Say what holds, or end with what does not."""
    if not right:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}", flush=True)


def built_wheel(folder: Path) -> Path:
    """The wheel, looked into."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder,
        ROOT, cwd=folder)  # fmt: skip
    (wheel,) = folder.glob("toplist-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    expect("toplist/py.typed" in names, "the wheel says that it is typed")
    templates = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").glob("toplist/*/templates/*")}
    expect(len(templates) > 5 and templates <= set(names), "the wheel carries the templates")
    built = (ROOT / "src").glob("toplist/service/http/assets/*")
    assets = {path.relative_to(ROOT / "src").as_posix() for path in built}
    expect(len(assets) > 4 and assets <= set(names), "the wheel carries the files for browsers")
    expect(any(name.endswith("licenses/LICENSE") for name in names), "the wheel carries the licence")
    expect(all(name.startswith("toplist") for name in names), "the wheel holds nothing but toplist")
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "toplist").rglob("*.py")}
    expect(source <= set(names), "the wheel holds every module")
    return wheel


def installed(folder: Path, what: str | Path) -> Path:
    """The programs of a new environment in which only this was installed."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint",
        ROOT / "requirements.lock", what, cwd=folder)  # fmt: skip
    listed = run(programs / "pip", "list", "--format=freeze", cwd=folder).stdout.split()
    packages = {line.partition("==")[0].lower() for line in listed} - {"pip", "setuptools"}
    expect(packages == CORE, f"an installation consists of {', '.join(sorted(CORE))}")
    return programs


def use(programs: Path, folder: Path) -> None:
    """The README's ten lines, the command line, and what is said where an extra is missing."""
    first = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[0]
    (folder / "ten_lines.py").write_text(first)
    printed = re.findall(r"# prints (.*)", first)
    lines = run(programs / "python", "-W", "error", "ten_lines.py", cwd=folder).stdout.splitlines()
    expect(lines[: len(printed)] == printed, "the README's ten lines run")
    expect(run(programs / "toplist", "--version", cwd=folder).stdout.startswith("toplist "), "toplist --version")
    small = ("simulate", "dcm-kl-ucb", "random", "--steps", "200", "--runs", "2")
    expect("dcm-kl-ucb" in run(programs / "toplist", *small, cwd=folder).stdout, "toplist simulate")
    refused = run(programs / "toplist", *small, "--plot", "regret.png", cwd=folder, code=3).stderr
    expect(refused.strip() == f"toplist: {WITHOUT_PLOTS}", "a plot without matplotlib is refused in one sentence")
    played = run(programs / "toplist", "reproduce", "katariya2016/figure3b", "--steps", "50", "--runs", "2", cwd=folder)
    left_out = f"toplist: no report is written: {WITHOUT_REPORT}"
    expect(left_out in played.stderr.splitlines(), "an experiment is played without Jinja2, but has no report")
    refused = run(programs / "toplist", "serve", cwd=folder, code=3).stderr
    expect(refused.strip() == f"toplist: {WITHOUT_SERVE}", "a service without its extra likewise")
    frame = "import toplist; toplist.Ranker(['a', 'b'], positions=1).estimates().to_frame()"
    said = run(programs / "python", "-c", frame, cwd=folder, code=1).stderr
    expect(said.strip().endswith(f"ImportError: {WITHOUT_FRAMES}"), "a data frame without pandas likewise")


def main() -> None:
    """Both ways to install."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        use(installed(folder / "from_wheel", built_wheel(folder)), folder)
        programs = installed(folder / "from_clone", ROOT)
        expect(run(programs / "toplist", "policies", cwd=folder).stdout.count("\n") > 5, "pip install . works too")
    print("The wheel works in an empty environment.")


if __name__ == "__main__":
    main()
