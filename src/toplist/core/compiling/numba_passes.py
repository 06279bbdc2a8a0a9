"""Runs the few passes of numba that an ordinary function needs, each once.

numba's own pipeline has 27 passes, for closures, context managers, generators, literal values, expressions of whole
arrays, inlined source and more. Most of them go through the function to find nothing, and compute where variables live
after each. A function that has nothing of these gets the same code from a dozen of them.
"""

from __future__ import annotations

from importlib import import_module
from types import CodeType
from typing import Any

from numba.core import types
from numba.core.errors import NumbaError

SPECIAL_FLAGS = 0x20 | 0x80 | 0x100 | 0x200  # of code objects: generators and coroutines
# Names of functions that passes left out here would treat.
SPECIAL_NAMES = frozenset(
    ["hasattr", "isinstance", "literal_unroll", "literally", "objmode_context", "prange", "reduce", "stencil"]
)


class ShortPipeline:
    """Compiles an ordinary function; it takes the place of numba's `PassManager`.

    Parameters
    ----------
    package : str
        The package with numba's passes.
    translate : type
        The pass that reads byte code.
    write : types
        The passes that write code for LLVM.
    """

    pipeline_name = "nopython"

    def __init__(self, package: str, translate: Any, *write: Any) -> None:
        self._package, self._translate, self._write = package, translate, write
        self.exec_times: dict[str, Any] = {}

    def run(self, state: Any) -> None:
        """Go from byte code to code for LLVM."""
        analysis, transforms = self._module("analysis"), self._module("transforms")
        untyped, typed = self._module("untyped_passes"), self._module("typed_passes")
        build_definitions = self._module("ir_utils").build_definitions
        step = "analyzing bytecode"
        try:
            self._translate().run_pass(state)
            untyped.FixupArgs().run_pass(state)
            function = state.func_ir
            function.blocks = transforms.canonicalize_cfg(function.blocks)
            if len(function.blocks) > 1:
                analysis.rewrite_semantic_constants(function, state.args)
                analysis.dead_branch_prune(function, state.args)
            self._rewrite(state)
            untyped.RewriteDynamicRaises().run_pass(state)
            in_one_form = any(len(definitions) > 1 for definitions in function._definitions.values())
            if in_one_form:
                function = state.func_ir = self._module("ssa").reconstruct_ssa(function)
                function._definitions = build_definitions(function.blocks)
            step = "nopython frontend"
            typed.NopythonTypeInference().run_pass(state)
            if in_one_form:
                state.func_ir = typed.PreLowerStripPhis()._strip_phi_nodes(function)
                state.func_ir._definitions = build_definitions(state.func_ir.blocks)
            if any(_inlines_source(kind) for kind in state.typemap.values()):
                typed.InlineOverloads().run_pass(state)
            step = "native lowering"
            for each in self._write:
                each().run_pass(state)
        except NumbaError as error:
            error.args = (f"Failed in {self.pipeline_name} mode pipeline (step: {step})\n{error}",)
            raise

    def _rewrite(self, state: Any) -> None:
        """Simplify expressions with constants, as the index of a tuple."""
        blocks = state.func_ir.blocks
        for kind in self._module("rewrites.registry").rewrite_registry.rewrites["before-inference"]:
            rewrite = kind(state)
            for label in list(blocks):
                while rewrite.match(state.func_ir, blocks[label], state.typemap, state.calltypes):
                    blocks[label] = rewrite.apply()

    def _module(self, name: str) -> Any:
        return import_module(f"{self._package}.{name}")


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
