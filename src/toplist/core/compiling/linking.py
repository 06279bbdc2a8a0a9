"""Compiles a function and all its callees in one pass.

Numba optimises every callee separately and generates machine code for it, and then does all of it again within the
caller. A policy calls some eighty functions, and none of them is called from Python, so this machine code is thrown
away. Here a callee stays in LLVM's intermediate representation, and only the whole program is optimised and turned
into machine code. That takes a third of the time, and LLVM optimises better when it sees everything.

A callee that is later called from Python is compiled again, as a whole program of its own.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler, sigutils
from numba.core.codegen import JITCodeLibrary

# `_nrt` is private to numba, so the range of versions is narrow, and the benchmark watches its effect.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}

# Functions being compiled, each called by the one before it; numba compiles in one thread at a time.
_being_compiled: list[Any] = []


class _CalleeLibrary(JITCodeLibrary):
    """Code that is only linked into other code: neither optimised as a whole nor turned into machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        """There is no machine code to point to; numba writes that as 0."""
        return 0

    @property
    def codegen(self) -> Any:
        """Numba would set the address of the function's environment here; without machine code there is none."""
        return _IgnoredEnvironments()


class _IgnoredEnvironments:
    def set_env(self, _: str, __: Any) -> None:
        pass


class WholeCompiler(compiler.Compiler):
    """Compiles a function to machine code, and its callees to code for linking."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba; then set the environments of the callees, which have their addresses only now."""
        _being_compiled.append(func)
        try:
            result: Any = super().compile_extra(func)  # type: ignore[no-untyped-call]
        finally:
            _being_compiled.pop()
        if not isinstance(result.library, _CalleeLibrary):
            for environment in result._find_referenced_environments():
                result.library.codegen.set_env(environment.env_name, environment)
        return result


class CalleeCompiler(WholeCompiler):
    """Compiles a function for linking while a caller is being compiled, and to machine code otherwise."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba, but into a library of its own."""
        if _being_compiled:
            self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
            # No wrappers: neither Python nor C will call it.
            self.state.flags.no_cpython_wrapper = self.state.flags.no_cfunc_wrapper = True
        return super().compile_extra(func)


def recompile_for_python(dispatcher: Any) -> Any:
    """Let a callee be compiled to machine code when Python calls it."""
    add, compile_for = dispatcher.add_overload, dispatcher.compile

    def add_overload(result: Any) -> None:
        if isinstance(result.library, _CalleeLibrary):
            dispatcher.overloads[tuple(result.signature.args)] = result  # for compiled callers only
        else:
            add(result)

    def compile_here(signature: Any) -> Any:
        arguments, _ = sigutils.normalize_signature(signature)  # type: ignore[no-untyped-call]
        known = dispatcher.overloads.get(tuple(arguments))
        if not _being_compiled and known is not None and isinstance(known.library, _CalleeLibrary):
            del dispatcher.overloads[tuple(arguments)]
        return compile_for(signature)

    dispatcher.add_overload, dispatcher.compile = add_overload, compile_here
    return dispatcher
