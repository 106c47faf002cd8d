"""A hint to the processor, for generated code."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import int32_t, voidptr_t
from numba.extending import intrinsic


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Fetch an element of an array into the caches: it will be asked for soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), voidptr_t)
        kinds = [voidptr_t, int32_t, int32_t, int32_t]
        hint = builder.module.declare_intrinsic("llvm.prefetch", [voidptr_t], ir.FunctionType(ir.VoidType(), kinds))
        builder.call(hint, [place, int32_t(0), int32_t(3), int32_t(1)])  # to read; into every cache; data
        return context.get_dummy_value()

    return types.void(array, index), generate
