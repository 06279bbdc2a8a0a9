"""Compiles a function with everything that it calls in one go.

Numba optimises every function that another one calls by itself and makes machine code of it, and then does it all again
within the caller. A policy at work calls some eighty functions, none of which anybody calls from Python; what is made
of them is thrown away. Here such an ingredient stays as it was written down for LLVM, and only the whole is optimised
and made machine code of. That takes a third of the time, and LLVM makes better code of what it sees as a whole.

An ingredient that is called from Python later is compiled again, as a whole of its own.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler, sigutils
from numba.core.codegen import JITCodeLibrary

# `_nrt` is private to numba, so the range of versions is narrow, and the benchmark watches what depends on it.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}

# Our functions that are being compiled, each because the one before calls it; numba does it in one thread at a time.
_being_compiled: list[Any] = []


class _CalleeLibrary(JITCodeLibrary):
    """Code that is only linked into other code: neither optimised as a whole nor made machine code of."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        """There is no machine code to point to, and numba writes that as 0."""
        return 0

    @property
    def codegen(self) -> Any:
        """What numba tells the address of a function's environment, which has none as long as there is no code."""
        return _IgnoredEnvironments()


class _IgnoredEnvironments:
    def set_env(self, _: str, __: Any) -> None:
        pass


class WholeCompiler(compiler.Compiler):
    """Makes machine code of a function, and ingredients of what it calls."""

    def compile_extra(self, func: Any) -> Any:
        """As numba does, but for the environments of the ingredients, which are at their places only now."""
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
    """Makes an ingredient of a function that another of ours calls, and machine code where it is called by itself."""

    def compile_extra(self, func: Any) -> Any:
        """As numba does, but that code goes to a place of its own."""
        if _being_compiled:
            self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
            # The ways in from Python and from C are for callers that it will not have.
            self.state.flags.no_cpython_wrapper = self.state.flags.no_cfunc_wrapper = True
        return super().compile_extra(func)


def recompile_for_python(dispatcher: Any) -> Any:
    """Let a function be compiled anew when Python calls what was an ingredient until then."""
    add, compile_for = dispatcher.add_overload, dispatcher.compile

    def add_overload(result: Any) -> None:
        if isinstance(result.library, _CalleeLibrary):
            dispatcher.overloads[tuple(result.signature.args)] = result  # for callers that are compiled, and only them
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
