"""Ask the processor to fetch what will be read soon, for compiled loops.

A look-up in a table that no cache holds waits a hundred nanoseconds for memory. A loop that first
asks for what each of many look-ups needs, and then goes through them, waits about once for all.
"""

from functools import cached_property
from typing import Any

import numpy as np


class _Prefetch:
    """`prefetch(array, row)`, an instruction that changes nothing; for kernels only."""

    def __call__(self, array: np.ndarray, row: int | np.int64) -> None:
        raise NotImplementedError("only compiled code can ask for it")

    @cached_property
    def _numba_type_(self) -> Any:
        """By this numba knows what it is, once it has been imported."""
        from llvmlite import ir  # noqa: PLC0415
        from numba.core import cgutils, types  # noqa: PLC0415
        from numba.core.registry import cpu_target  # noqa: PLC0415
        from numba.extending import intrinsic  # noqa: PLC0415
        from numba.np.arrayobj import make_array  # noqa: PLC0415

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = signature.args[0]
            array = make_array(kind)(context, builder, args[0])
            place = cgutils.get_item_pointer(
                context, builder, kind, array, [args[1]], wraparound=False
            )
            byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
            declared = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
            function = cgutils.get_or_insert_function(builder.module, declared, "llvm.prefetch.p0")
            # To be read, into all caches, data and not instructions.
            builder.call(function, [builder.bitcast(place, byte), flag(0), flag(3), flag(1)])
            return context.get_dummy_value()

        @intrinsic  # type: ignore[untyped-decorator]
        def ask(_context: Any, array: Any, row: Any) -> Any:
            return types.void(array, row), generate

        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(ask)


prefetch = _Prefetch()
