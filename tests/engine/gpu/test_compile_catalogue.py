"""`make gpu-compile`: what it covers, what it notes, and that it fails where a policy does."""

from pathlib import Path
from typing import Any

import compile_catalogue
import pytest
from catalogue_problems import OTHERS, policies, problem_of
from compile_catalogue import COMPILED, FAILED, NOTED, compile_share, layout_of, main
from without_device import CAPABILITY, compiled_kernel

import toplist
from toplist.core.beliefs import nested_values
from toplist.core.compiling import cache_folder
from toplist.core.compiling.replaced import replaced
from toplist.engine.gpu import cuda_device
from toplist.policies.fixed_list import ShowList
from toplist.support.catalogue import STARTS
from toplist.support.files import import_optional


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for machine code."""
    monkeypatch.setenv(cache_folder.VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def idle_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVIDIA's compiler must not be asked."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("it is compiled again")

    monkeypatch.setattr(import_optional("numba.cuda.cudadrv.nvvm", "gpu"), "compile_ir", refuse)


def test_every_class_of_worlds_users_and_starts_is_compiled() -> None:
    problems = [problem_of(name) for name in [*policies(), *OTHERS]]
    compiled = {type(part) for problem in problems for part in nested_values(problem)}
    named = [getattr(module, name) for module in (toplist.clicks, toplist.worlds) for name in module.__all__]
    wanted = {each for each in named if isinstance(each, type)} | {entry.build for entry in STARTS.entries().values()}
    assert len(wanted) > 15
    assert wanted <= compiled


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_unchanged_problems_are_not_compiled_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    assert compile_share(["best"]) == [COMPILED]
    request.getfixturevalue("idle_compiler")
    assert compile_share(["best"]) == [NOTED]
    assert compile_share(["best"], level=1) == compile_share(["best"], noted=False) == [FAILED]
    assert "best: FAILED, AssertionError: it is compiled again" in capsys.readouterr().out
    monkeypatch.setattr(ShowList, "rank", lambda *_: None)
    assert compile_share(["best"]) == [FAILED]  # the source is another one


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_the_command_fails_where_a_policy_does(capfd: pytest.CaptureFixture[str]) -> None:
    """In processes of their own; the second call finds the notes of the first."""
    for expected in ("1 compiled, 0 compiled before, 0 failed", "0 compiled, 1 compiled before, 0 failed"):
        assert main(["best"]) == 0
        assert f"for CUDA: {expected}" in capfd.readouterr().out
    with replaced((compile_catalogue, "assembly_of", None)):
        assert main(["--as-played", "best"]) == 1
    assert "best: FAILED, TypeError" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_a_kernel_is_loaded_from_disk(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(cuda_device, "_kernels", {})
    (first,) = compiled_kernel(layout_of(problem_of("best"))).overloads.values()
    request.getfixturevalue("idle_compiler")
    monkeypatch.setattr(cuda_device, "_kernels", {})  # as in another process
    (again,) = compiled_kernel(layout_of(problem_of("best"))).overloads.values()
    assert again is not first
    code = (*CAPABILITY, "a")
    assert again.inspect_asm(code) == first.inspect_asm(code)
    with pytest.raises(AssertionError, match="compiled again"):
        compiled_kernel(layout_of(problem_of("best")), capability=(8, 0))
