"""What the code for CUDA is like; `make gpu-compile` compiles every policy of the catalogue."""

import re
from importlib import import_module
from typing import Any

import pytest
from compile_catalogue import assembly

from toplist.engine.gpu.cuda_target import kernel_code, numba_cuda
from toplist.engine.gpu.llvm_text import keep_loops


@pytest.mark.parametrize("policy", ["cascade-ucb1", "ranked-exp3", "dcm-ts"])
def test_policies_compile_for_cuda(policy: str) -> None:
    text = assembly(policy)
    assert len(re.findall(r"\.visible \.entry", text)) == 1
    # Sums round as on the CPU: of all products, only those of the library's own functions are fused.
    assert not re.search(r"\b(mul|add)\.f64", text)


def test_code_is_kept_short() -> None:
    text = assembly("cascade-kl-ucb")
    # Of the solver, which is not copied to these places: where there is no estimate, and where two are too close.
    assert 3 <= len(re.findall(r"\bcall\b", text)) <= 5


def test_names_do_not_spell_out_types() -> None:
    names = re.findall(r"\b_Z\w+", assembly("cascade-kl-ucb"))
    assert len(set(names)) >= 2  # the kernel and the solver
    assert max(map(len, names)) < 150


def test_numba_cuda_is_as_before_after_compiling() -> None:
    def changed() -> tuple[Any, ...]:
        modules = "core.base", "core.callconv", "cgutils", "np.arrayobj", "compiler", "cudadrv.nvvm"
        base, convention, helpers, arrays, compiler, nvvm = (import_module(f"numba.cuda.{name}") for name in modules)
        return (
            base.BaseContext.refresh, convention.BaseCallConv.mangler, helpers.pointer_add, arrays.make_array,
            compiler.CUDACompiler, nvvm.compile_ir,
        )  # fmt: skip

    numba_cuda()
    before = changed()
    with kernel_code():
        assert not set(changed()) & set(before)
    assert changed() == before


def test_only_branches_backwards_are_marked_as_loops() -> None:
    text = """define i32 @f() {
entry:
  br label %"loop"
loop:
  br i1 %c, label %"loop", label %"end"
end:
  ret i32 0
}
define i32 @g() {
first:
  br label %end
end:
  br label %"entry"
entry:
  br label %end
}"""
    marked = [line for line in keep_loops(text).split("\n") if line.startswith("  br") and "!llvm.loop" in line]
    assert [line.partition(", !")[0] for line in marked] == [
        '  br i1 %c, label %"loop", label %"end"',
        "  br label %end",
    ]
    assert len(set(marked)) == 2
    assert keep_loops(text).count("= distinct") == 2
