"""The public fallback for numba's private parts, plain Python without numba's compiler, and the cache folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import toplist
from toplist.clicks import DCM
from toplist.core.compiling import cache_folder, compiled, direct, helper, numba_cache, numba_private, numba_public
from toplist.core.compiling.cache_folder import machine, trim
from toplist.parts.index.ties import is_behind
from toplist.worlds import b_top_k

ROOT = Path(__file__).parent.parent.parent
SIMULATION = """
import toplist
from toplist.clicks import DCM
from toplist.core.compiling.compile import backend
from toplist.parts.index.ties import is_behind
from toplist.worlds import b_top_k
result = toplist.simulate("{policy}", b_top_k(6, 2, 0.4, 0.3), DCM(0.7), {steps}, runs=1, threads=1,
                          compiled={compiled})
print(backend.__name__.rpartition(".")[2], repr(result.regret["{policy}"].sum().item()))
"""
BOUNDS = """
from toplist.core.compiling import compiled
from toplist.parts.index.kl_solver import kl_upper
print(*[compiled(kl_upper)(examined, 3.0, 6.0) == kl_upper(examined, 3.0, 6.0) for examined in (5.0, 70.0, 1e6)])
"""


def run(program: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TOPLIST_CACHE_DIR": str(tmp_path / "cache")} | variables
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)


def expected(steps: int, policy: str = "dcm-kl-ucb") -> str:
    result = toplist.simulate(policy, b_top_k(6, 2, 0.4, 0.3), DCM(0.7), steps, runs=1, threads=1)
    return repr(result.regret[policy].sum().item())


# A part that is edited, and functions that parts share, as machine code. Others are about what only the private parts
# do: to link (`test_linking`), to cache, and to refuse allocations and inlining (much of `test_compiling`).
ALSO_WITH_THE_FALLBACK = (
    "tests/core/test_compiling.py::test_an_edited_class_is_compiled_again_by_any_function",
    "tests/parts/index/test_select.py::test_machine_code_selects_any_number_of_many",
    "tests/parts/index/test_select.py::test_ties_among_very_many_items_follow_numbers_that_are_given_by_blocks",
    "tests/parts/index/test_sort.py::test_machine_code_sorts_long_lists_of_every_shape",
    "tests/parts/index/test_sort.py::test_ranked_value_is_that_of_a_sorted_list",
)


@pytest.mark.slow
def test_the_fallback_gives_the_same_numbers_and_passes_a_part_of_the_tests(tmp_path: Path) -> None:
    """In one process, since it compiles anew in each; a simulation by a formula, and the solver of KL-UCB alone."""
    program = (
        f"{SIMULATION.format(policy='cascade-ucb1', steps=2000, compiled=True)}\n{BOUNDS}\n"
        "import pytest, sys\n"
        f"sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '--rootdir', {str(ROOT)!r}, *sys.argv[1:]]))"
    )
    environment = os.environ | {"TOPLIST_CACHE_DIR": str(tmp_path), "TOPLIST_NUMBA": "public"}
    ended = subprocess.run(
        [sys.executable, "-c", program, *ALSO_WITH_THE_FALLBACK],
        env=environment, capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith(f"numba_public {expected(2000, 'cascade-ucb1')}\nTrue True True\n")
    passed = re.search(r"^(\d+) passed in", ended.stdout, re.MULTILINE)
    assert passed is not None, ended.stdout
    assert int(passed[1]) >= 60
    assert list(tmp_path.iterdir()) == []  # it has no cache


def test_the_usual_level_of_optimisation_gives_the_same_numbers(tmp_path: Path) -> None:
    """Tests compile with level 1, as here, and users with numba's default, level 3."""
    folder = {"TOPLIST_CACHE_DIR": str(cache_folder.cache_folder())}  # as usual: the name of a file has the level
    ended = run(SIMULATION.format(policy="dcm-kl-ucb", steps=8000, compiled=None), tmp_path, NUMBA_OPT="3", **folder)
    assert vars(numba.config)["OPT"] == 1
    assert (ended.stdout, ended.stderr) == (f"numba_private {expected(8000)}\n", "")


def test_without_the_compiler_the_source_gives_the_same_numbers_and_a_check_passes(tmp_path: Path) -> None:
    check = "import sys; from toplist.cli import main; sys.exit(main(['check', 'cascade-ucb1']))"
    program = f"{SIMULATION.format(policy='dcm-kl-ucb', steps=200, compiled=None)}\n{check}"
    ended = run(program, tmp_path, NUMBA_DISABLE_JIT="1")
    assert (ended.returncode, ended.stderr) == (0, "")
    first, *_, last = ended.stdout.splitlines()
    assert first == f"numba_public {expected(200)}"
    assert re.fullmatch(r"(\d+) of \1 promises kept", last)


BREAKAGES = {
    "a name is gone": "import numba.core.codegen as numbas; del numbas.JITCodeLibrary",
    "a method is gone": (
        "from numba.core.compiler import CompileResult; del CompileResult._find_referenced_environments"
    ),
    "an option is gone": (
        "from numba.core.cpu import CPUTargetOptions as options\n"
        "for cls in options.__mro__:\n    if '_nrt' in vars(cls):\n        del cls._nrt"
    ),
    "machine code cannot be read back": (
        "from numba.core.compiler import CompileResult; CompileResult._rebuild = classmethod(lambda cls, *_: None)"
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_numba_whose_private_parts_changed_is_used_by_its_public_ones(breakage: str, tmp_path: Path) -> None:
    program = f"{BREAKAGES[breakage]}\nfrom toplist.core.compiling.compile import backend, compiled, helper\n" + (
        "@helper\ndef one(x):\n    return x + 1.0\n"
        "@compiled\ndef two(x):\n    return one(one(x))\n"
        "print(backend.__name__.rpartition('.')[2], two(1.0))\n"
    )
    program += "import toplist.engine.batch_scheduler, toplist.engine.gpu.cuda_device"  # that of engine="gpu"
    ended = run(program, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "numba_public 3.0\n"), ended.stderr
    assert "RuntimeWarning: toplist cannot use the private parts of numba" in ended.stderr
    assert "TOPLIST_NUMBA=public" in ended.stderr


def test_the_private_parts_pass_their_test_once_per_machine(tmp_path: Path) -> None:
    program = "from toplist.core.compiling.compile import backend; print(backend.__name__.rpartition('.')[2])"
    assert run(program, tmp_path).stdout == "numba_private\n"
    (passed,) = (tmp_path / "cache").glob("passed-*")
    broken = BREAKAGES["machine code cannot be read back"]
    assert run(f"{broken}\n{program}", tmp_path).stdout == "numba_private\n"  # not tested again
    passed.unlink()
    assert run(f"{broken}\n{program}", tmp_path).stdout == "numba_public\n"


def test_machine_code_that_was_compiled_in_another_way_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOPLIST_CACHE_DIR", os.fspath(tmp_path))
    cache, signature = numba_private.ContentCache(is_behind), ()
    files = {cache.file_of(signature), cache.file_of(signature)}
    assert len(files) == 1
    monkeypatch.setattr(numba_cache, "ways_to_compile", lambda: "another")
    assert cache.file_of(signature) not in files


def test_the_public_parts_alone_load_no_private_ones(tmp_path: Path) -> None:
    everything = (
        "import pkgutil, sys, toplist\n"
        "from importlib import import_module\n"
        "for module in pkgutil.walk_packages(toplist.__path__, 'toplist.'):\n"
        "    if not module.name.startswith('toplist.core.compiling.numba_'):\n"
        "        import_module(module.name)\n"
        "print(*sorted(name.rpartition('.')[2] for name in sys.modules if '.compiling.numba_' in name))"
    )
    ended = run(everything, tmp_path, TOPLIST_NUMBA="public")
    assert (ended.returncode, ended.stdout) == (0, "numba_backend numba_public\n"), ended.stderr


def test_an_unknown_backend_is_refused(tmp_path: Path) -> None:
    ended = run("import toplist.core.compiling", tmp_path, TOPLIST_NUMBA="fast")
    assert "TOPLIST_NUMBA is 'fast'; it must be 'private' or 'public', or not set." in ended.stderr


def test_both_backends_have_the_same_functions() -> None:
    for name in ("OPTIONS", "callee_options", "compile_whole", "keep_on_disk"):
        assert hasattr(numba_public, name)
        assert hasattr(numba_private, name)
    assert numba_private.OPTIONS == numba_public.OPTIONS | {"_nrt": False}


def one_more(x: float) -> float:
    return x + 1.0


@pytest.mark.parametrize(
    "changed", [{"OPT": 0}, {"CPU_NAME": "generic", "CPU_FEATURES": ""}, {"LOOP_VECTORIZE": 0}], ids=str
)
def test_settings_of_the_machine_are_part_of_the_name_of_a_cached_file(
    changed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba reads them from variables as NUMBA_OPT when it is imported."""
    monkeypatch.setenv("TOPLIST_CACHE_DIR", str(tmp_path))

    def files() -> set[str]:
        assert compiled(one_more)(1.0) == 2.0
        return {file.name for file in tmp_path.glob("one_more-*")}

    first = files()
    assert len(first) == 1
    assert files() == first
    for name, value in changed.items():
        monkeypatch.setattr(numba.config, name, value)
    assert len(files()) == 2


def test_the_cache_deletes_what_was_not_used_for_the_longest_time(tmp_path: Path) -> None:
    (tmp_path / "another file").write_bytes(bytes(5000))
    os.utime(tmp_path / "another file", (1, 1))
    for age, name in enumerate(("new.machine-code", "middle.machine-code", "old.machine-code")):
        (tmp_path / name).write_bytes(bytes(400))
        os.utime(tmp_path / name, (1_000_000 - age, 1_000_000 - age))
    trim(tmp_path, limit=1200)
    assert len(list(tmp_path.iterdir())) == 4
    trim(tmp_path, limit=1199)
    assert {file.name for file in tmp_path.iterdir()} == {"new.machine-code", "middle.machine-code", "another file"}


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, "home/.cache/toplist"),
        ("linux", {"XDG_CACHE_HOME": "{}/xdg"}, "xdg/toplist"),
        ("linux", {"TOPLIST_CACHE_DIR": "{}/mine"}, "mine"),
        ("darwin", {}, "home/Library/Caches/toplist"),
        ("win32", {"LOCALAPPDATA": "{}/local"}, "local/toplist"),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(
    platform: str, variables: dict[str, str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "TOPLIST_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "{}/home"} | variables).items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setattr(sys, "platform", platform)
    assert cache_folder.cache_folder() == tmp_path / folder
    assert (tmp_path / folder).is_dir()


def test_without_a_folder_for_the_cache_everything_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TOPLIST_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cache_folder.cache_folder() is None

    @compiled
    def double(x: float) -> float:
        return 2.0 * x

    assert double(1.5) == 3.0


def test_the_machine_names_its_cpu_and_numbas_settings() -> None:
    assert f"OPT={vars(numba.config)['OPT']}" in machine()
    assert any("numba " + numba.__version__ in line for line in machine())


def test_a_helper_works_in_functions_that_numba_compiles() -> None:
    @helper
    def half(x: float) -> float:
        return 0.5 * x

    quarter: Any = numba.njit(lambda x: half(half(x)))
    assert quarter(2.0) == 0.5


def test_direct_returns_machine_code() -> None:
    @compiled
    def total(values: Any) -> float:
        found = 0.0
        for value in values:
            found += value
        return found

    values = np.arange(4.0)
    assert direct(total, values)(values) == 6.0
    # The service makes lists while another thread compiles for half a minute.
    with ThreadPoolExecutor(1) as other, global_compiler_lock:
        assert other.submit(direct, total, values).result(timeout=5.0)(values) == 6.0
