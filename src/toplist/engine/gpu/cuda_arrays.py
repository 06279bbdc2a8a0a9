"""Code for CUDA that reaches the arrays of a run: shapes are constants, and small arrays lie in the thread itself."""

from __future__ import annotations

from typing import Any

from toplist.engine.gpu.batch import LANES, ArrayAccess, BatchLayout, Place
from toplist.support.files import import_optional

OWN_BYTES = 8192  # of small arrays in each thread: registers, or memory that only this thread reaches


def cuda_access(layout: BatchLayout) -> ArrayAccess:
    """How kernels of a layout reach arrays: the smallest ones are copied into the thread, and back at the end."""
    left, small = OWN_BYTES, set()
    for place in sorted(layout.places.values(), key=lambda place: int(place.array.nbytes)):
        left -= place.array.nbytes
        if left >= 0:
            small.add(id(place.array))
    makers = _Makers(small)
    return ArrayAccess(makers.take, makers.give, makers.fixed)


class _Makers:
    """Makes functions for compiled code."""

    def __init__(self, small: set[int]) -> None:
        self._small = small
        self._extending = import_optional("numba.cuda.extending", "gpu")
        self._cgutils = import_optional("numba.cuda.cgutils", "gpu")
        self._arrays = import_optional("numba.cuda.np.arrayobj", "gpu")
        self._types = import_optional("numba.cuda.types", "gpu")
        self._ir = import_optional("llvmlite.ir", "gpu")
        self._from_dtype = import_optional("numba.cuda.np.numpy_support", "gpu").from_dtype

    def take(self, place: Place) -> Any:
        is_small = id(place.array) in self._small
        element = self._from_dtype(place.array.dtype)
        made = self._types.Array(element, place.array.ndim, "C" if is_small else "A")
        step = place.array.itemsize if is_small else 8 * LANES

        @self._extending.intrinsic
        def take(_: Any, memory: Any, at: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                stored = context.get_data_type(element)
                words = self._words(context, builder, signature.args[0], arguments, place)
                data = builder.bitcast(words, stored.as_pointer())
                if is_small:
                    block = self._cgutils.alloca_once(builder, self._ir.ArrayType(stored, place.array.size))
                    data = builder.bitcast(block, stored.as_pointer())
                    self._copy(builder, place, lambda i: (self._word(builder, words, i, stored), builder.gep(data, [i])))
                return self._array(context, builder, made, data, place.array, step)

            return made(memory, at), generate

        return take

    def give(self, place: Place) -> Any:
        is_small = id(place.array) in self._small

        @self._extending.intrinsic
        def give(_: Any, own: Any, memory: Any, at: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                if is_small:
                    stored = context.get_data_type(own.dtype)
                    words = self._words(context, builder, signature.args[1], arguments[1:], place)
                    data = context.make_array(own)(context, builder, arguments[0]).data
                    self._copy(builder, place, lambda i: (builder.gep(data, [i]), self._word(builder, words, i, stored)))
                return context.get_dummy_value()

            return self._types.void(own, memory, at), generate

        return give

    def fixed(self, array: Any) -> Any:
        @self._extending.intrinsic
        def fixed(_: Any, given: Any) -> Any:
            def generate(context: Any, builder: Any, __: Any, arguments: Any) -> Any:
                data = context.make_array(given)(context, builder, arguments[0]).data
                return self._array(context, builder, given, data, array, array.itemsize)

            return given(given), generate

        return fixed

    def _words(self, context: Any, builder: Any, memory: Any, arguments: Any, place: Place) -> Any:
        """The address of a run's first word of an array, as a whole number's."""
        data, at = context.make_array(memory)(context, builder, arguments[0]).data, arguments[1]
        whole = at.type
        tile, lane = builder.udiv(at, whole(LANES)), builder.urem(at, whole(LANES))
        first = builder.add(builder.mul(tile, whole(place.words * LANES)), lane)
        return builder.gep(data, [builder.add(first, whole(place.first * LANES))])

    def _word(self, builder: Any, words: Any, number: Any, stored: Any) -> Any:
        """The address of an element."""
        there = builder.gep(words, [builder.mul(number, number.type(LANES))])
        return builder.bitcast(there, stored.as_pointer())

    def _copy(self, builder: Any, place: Place, ends: Any) -> None:
        """Copy all elements, from and to what `ends` says of a number."""
        with self._cgutils.for_range(builder, self._cgutils.intp_t(place.array.size)) as loop:
            source, target = ends(loop.index)
            builder.store(builder.load(source), target)

    def _array(self, context: Any, builder: Any, made: Any, data: Any, like: Any, step: int) -> Any:
        """An array with the shape of another as constants."""
        whole, steps = self._cgutils.intp_t, [step] * like.ndim
        for axis in reversed(range(like.ndim - 1)):
            steps[axis] = steps[axis + 1] * like.shape[axis + 1]
        array = context.make_array(made)(context, builder)
        shape, strides = ([whole(number) for number in numbers] for numbers in (like.shape, steps))
        self._arrays.populate_array(array, data, shape, strides, whole(like.itemsize), None)
        return array._getvalue()
