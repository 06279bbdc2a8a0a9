"""Runs the few passes of numba that an ordinary function needs, each once.

numba's own pipeline has 27 passes, for closures, context managers, generators, literal values, expressions of whole
arrays, inlined source and more. Most of them go through the function to find nothing, and compute where variables live
after each. A function that has nothing of these gets the same code from a dozen of them.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from numba.core import errors, transforms, typed_passes, types, untyped_passes
from numba.core.analysis import dead_branch_prune, rewrite_semantic_constants
from numba.core.ir_utils import build_definitions
from numba.core.rewrites.registry import rewrite_registry
from numba.core.ssa import reconstruct_ssa

from toplist.core.compiling.numba_lowering import Lower

SPECIAL_FLAGS = 0x20 | 0x80 | 0x100 | 0x200  # of code objects: generators and coroutines
# Names of functions that passes left out here would treat.
SPECIAL_NAMES = frozenset(
    ["hasattr", "isinstance", "literal_unroll", "literally", "objmode_context", "prange", "reduce", "stencil"]
)


class _Lowering(typed_passes.NativeLowering):
    """numba's pass that writes LLVM code, with our way to write it."""

    @property
    def lowering_class(self) -> Any:
        """What writes the code."""
        return Lower


class ShortPipeline:
    """Compiles an ordinary function; it takes the place of numba's `PassManager`."""

    pipeline_name = "nopython"

    def __init__(self) -> None:
        self.exec_times: dict[str, Any] = {}

    def run(self, state: Any) -> None:
        """Go from byte code to code for LLVM."""
        step = "analyzing bytecode"
        try:
            untyped_passes.TranslateByteCode().run_pass(state)  # type: ignore[no-untyped-call]
            untyped_passes.FixupArgs().run_pass(state)  # type: ignore[no-untyped-call]
            function = state.func_ir
            function.blocks = transforms.canonicalize_cfg(function.blocks)  # type: ignore[no-untyped-call]
            if len(function.blocks) > 1:
                rewrite_semantic_constants(function, state.args)  # type: ignore[no-untyped-call]
                dead_branch_prune(function, state.args)  # type: ignore[no-untyped-call]
            _rewrite(state)
            untyped_passes.RewriteDynamicRaises().run_pass(state)  # type: ignore[no-untyped-call]
            in_one_form = any(len(definitions) > 1 for definitions in function._definitions.values())
            if in_one_form:
                function = state.func_ir = reconstruct_ssa(function)  # type: ignore[no-untyped-call]
                function._definitions = build_definitions(function.blocks)  # type: ignore[no-untyped-call]
            step = "nopython frontend"
            typed_passes.NopythonTypeInference().run_pass(state)  # type: ignore[no-untyped-call]
            if in_one_form:
                state.func_ir = typed_passes.PreLowerStripPhis()._strip_phi_nodes(function)  # type: ignore[no-untyped-call]
                state.func_ir._definitions = build_definitions(state.func_ir.blocks)  # type: ignore[no-untyped-call]
            if any(_inlines_source(kind) for kind in state.typemap.values()):
                typed_passes.InlineOverloads().run_pass(state)  # type: ignore[no-untyped-call]
            typed_passes.NoPythonSupportedFeatureValidation().run_pass(state)  # type: ignore[no-untyped-call]
            step = "native lowering"
            _Lowering().run_pass(state)  # type: ignore[no-untyped-call]
            typed_passes.NoPythonBackend().run_pass(state)  # type: ignore[no-untyped-call]
        except errors.NumbaError as error:
            error.args = (f"Failed in {self.pipeline_name} mode pipeline (step: {step})\n{error}",)
            raise


def _rewrite(state: Any) -> None:
    """Simplify expressions with constants, as the index of a tuple."""
    blocks = state.func_ir.blocks
    for kind in rewrite_registry.rewrites["before-inference"]:
        rewrite = kind(state)
        for label in list(blocks):
            while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                blocks[label] = rewrite.apply()


def _inlines_source(kind: Any) -> bool:
    """Whether a call of a function of this type is replaced by its source."""
    templates = kind.templates if isinstance(kind, types.Function) else ()
    return any(getattr(template, "_inline_overloads", None) for template in templates)


def is_ordinary(function: Any, flags: Any) -> bool:
    """Whether a function needs no other passes."""
    code = function.__code__
    closures = any(isinstance(constant, CodeType) for constant in code.co_consts)  # comprehensions, too
    unusual = flags.enable_pyobject or flags.nrt or flags.debuginfo or flags.no_rewrites or not flags.enable_ssa
    return not (
        closures
        or unusual
        or flags.auto_parallel.enabled
        or code.co_flags & SPECIAL_FLAGS
        or code.co_exceptiontable  # try, with
        or SPECIAL_NAMES.intersection(code.co_names + code.co_freevars)
    )
