"""Code for CUDA that reaches the arrays of a run: shapes are constants, and small arrays lie in the thread itself."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from toplist.engine.gpu.batch import LANES, WORD, ArrayPlace, BatchLayout
from toplist.support.files import import_optional

OWN_BYTES = 8192  # of small arrays in each thread: memory that only this thread reaches, and its cache holds


class CudaArrays:
    """Makes functions for kernels of a layout: its smallest arrays are copied into the thread, and back at the end."""

    def __init__(self, layout: BatchLayout) -> None:
        arrays = sorted((place.array for place in layout.places.values()), key=lambda array: int(array.nbytes))
        ends = accumulate(array.nbytes for array in arrays)
        self._small = {id(array) for array, end in zip(arrays, ends, strict=True) if end <= OWN_BYTES}
        self._intrinsic = import_optional("numba.cuda.extending", "gpu").intrinsic
        self._cgutils = import_optional("numba.cuda.cgutils", "gpu")
        self._arrays = import_optional("numba.cuda.np.arrayobj", "gpu")
        self._types = import_optional("numba.cuda.types", "gpu")
        self._ir = import_optional("llvmlite.ir", "gpu")
        self._from_dtype = import_optional("numba.cuda.np.numpy_support", "gpu").from_dtype

    def take(self, place: ArrayPlace) -> Any:
        """The function of a memory and a run's number: the run's array."""
        like, is_small = place.array, id(place.array) in self._small
        made = self._types.Array(self._from_dtype(like.dtype), like.ndim, "C" if is_small else "A")

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            stored = context.get_data_type(made.dtype)
            words = self._words(context, builder, signature.args[0], arguments, place)
            if not is_small:
                data = builder.bitcast(words, stored.as_pointer())
                return self._array(context, builder, made, data, like, WORD * LANES)
            block = self._cgutils.alloca_once(builder, self._ir.ArrayType(stored, like.size))
            data = builder.bitcast(block, stored.as_pointer())
            self._copy(builder, words, data, like.size)
            return self._array(context, builder, made, data, like, like.itemsize)

        return self._intrinsic(lambda _, memory, at: (made(memory, at), generate))

    def give(self, place: ArrayPlace) -> Any:
        """The function of that array, the memory and the number: puts the array back."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if id(place.array) in self._small:
                own, memory, _ = signature.args
                words = self._words(context, builder, memory, arguments[1:], place)
                data = context.make_array(own)(context, builder, arguments[0]).data
                self._copy(builder, words, data, place.array.size, back=True)
            return context.get_dummy_value()

        return self._intrinsic(lambda _, own, memory, at: (self._types.void(own, memory, at), generate))

    def fixed(self, like: Any) -> Any:
        """The function of an array that all runs share: the same, of constant shape."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            given = signature.return_type
            data = context.make_array(given)(context, builder, arguments[0]).data
            return self._array(context, builder, given, data, like, like.itemsize)

        return self._intrinsic(lambda _, given: (given(given), generate))

    def _words(self, context: Any, builder: Any, memory: Any, arguments: Any, place: ArrayPlace) -> Any:
        """The address of a run's first word of an array."""
        data, at = context.make_array(memory)(context, builder, arguments[0]).data, arguments[1]
        whole = at.type
        tile, lane = builder.udiv(at, whole(LANES)), builder.urem(at, whole(LANES))
        first = builder.add(builder.mul(tile, whole(place.words * LANES)), lane)
        return builder.gep(data, [builder.add(first, whole(place.first * LANES))])

    def _copy(self, builder: Any, words: Any, data: Any, count: int, back: bool = False) -> None:
        """Copy a run's words to elements in the thread, or back."""
        with self._cgutils.for_range(builder, self._cgutils.intp_t(count)) as loop:
            word = builder.gep(words, [builder.mul(loop.index, loop.index.type(LANES))])
            here, there = builder.gep(data, [loop.index]), builder.bitcast(word, data.type)
            source, target = (here, there) if back else (there, here)
            builder.store(builder.load(source), target)

    def _array(self, context: Any, builder: Any, made: Any, data: Any, like: Any, step: int) -> Any:
        """An array with the shape of another as constants, and the elements of a row `step` bytes apart."""
        whole, steps = self._cgutils.intp_t, [step] * like.ndim
        for axis in reversed(range(like.ndim - 1)):
            steps[axis] = steps[axis + 1] * like.shape[axis + 1]
        array = context.make_array(made)(context, builder)
        shape, strides = ([whole(number) for number in numbers] for numbers in (like.shape, steps))
        self._arrays.populate_array(array, data, shape, strides, whole(like.itemsize), None)
        return array._getvalue()
