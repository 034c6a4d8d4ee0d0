# mypy: ignore-errors
"""Single machine instructions that numba does not offer by itself, for :mod:`isthmus._math.gram_kernels`."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def leading_zeros(typingctx, x):
    """Number of zero bits above the highest one bit."""

    def build(context, builder, signature, args):
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@intrinsic
def trailing_zeros(typingctx, x):
    """Number of zero bits below the lowest one bit."""

    def build(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), build


@intrinsic
def common_bits(typingctx, matrix, j, i, n_words):
    """Bits that row j of a C-contiguous uint64 matrix shares with rows i, i+1, i+2, i+3; n_words a multiple of 4.

    Written with 128-bit vectors of bytes: bits are counted per byte and widened once for every 28 vectors (a byte
    holds 31 such counts), and row j is read once for four rows. Compilers do not find this in a loop over words.
    """

    def build(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        word = ir.IntType(64)
        bytes16, halves8, words4 = (ir.VectorType(ir.IntType(w), k) for w, k in ((8, 16), (16, 8), (32, 4)))
        # llvmlite's own ctpop takes integers only; the instruction itself takes vectors.
        count = cgutils.get_or_insert_function(builder.module, ir.FunctionType(bytes16, [bytes16]), "llvm.ctpop.v16i8")
        base = builder.bitcast(array.data, word.as_pointer())
        n_words = args[3]
        row_j = builder.gep(base, [builder.mul(args[1], n_words)])
        rows = [builder.gep(base, [builder.mul(builder.add(args[2], ir.Constant(word, r)), n_words)]) for r in range(4)]
        totals = [cgutils.alloca_once_value(builder, ir.Constant(words4, None)) for _ in rows]
        parts = [cgutils.alloca_once(builder, bytes16) for _ in rows]

        def vector(row, at):
            return builder.load(builder.bitcast(builder.gep(row, [at]), bytes16.as_pointer()), align=8)

        zero, chunk, step = (ir.Constant(word, v) for v in (0, 56, 4))
        with cgutils.for_range_slice(builder, zero, n_words, chunk, word) as (k0, _):
            for part in parts:
                builder.store(ir.Constant(bytes16, None), part)
            k1 = builder.add(k0, chunk)
            k1 = builder.select(builder.icmp_signed("<", k1, n_words), k1, n_words)
            with cgutils.for_range_slice(builder, k0, k1, step, word) as (k, _):
                for at in (k, builder.add(k, ir.Constant(word, 2))):
                    common = vector(row_j, at)
                    for row, part in zip(rows, parts, strict=True):
                        ones = builder.call(count, [builder.and_(common, vector(row, at))])
                        builder.store(builder.add(builder.load(part), ones), part)
            for part, total in zip(parts, totals, strict=True):
                wide = _pairwise(builder, _pairwise(builder, builder.load(part), halves8), words4)
                builder.store(builder.add(builder.load(total), wide), total)
        results = []
        for total in totals:
            lanes = builder.load(total)
            result = builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))
            for lane in range(1, 4):
                result = builder.add(result, builder.extract_element(lanes, ir.Constant(ir.IntType(32), lane)))
            results.append(result)
        return context.make_tuple(builder, signature.return_type, results)

    signature = types.UniTuple(types.int32, 4)(types.Array(types.uint64, 2, "C"), types.int64, types.int64, types.int64)
    return signature, build


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line that holds array[index]; changes nothing else."""

    def build(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()] + [ir.IntType(32)] * 3)
        ask = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(ask, [pointer, *(ir.Constant(ir.IntType(32), v) for v in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.int64), build


def _pairwise(builder, vector, wider):
    """Add neighbouring lanes into lanes of twice the width: odd lanes by a shift, even lanes by a mask."""
    bits = wider.element.width // 2
    cast = builder.bitcast(vector, wider)
    shift = ir.Constant(wider, [bits] * wider.count)
    mask = ir.Constant(wider, [(1 << bits) - 1] * wider.count)
    return builder.add(builder.lshr(cast, shift), builder.and_(cast, mask))
