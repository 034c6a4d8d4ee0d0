# mypy: ignore-errors
"""Compiled kernels behind :mod:`isthmus.features.gram`. Importing this module loads numba.

The plan: sort all positions of all sequences once by the n-gram of the greatest length that starts there; n-grams of
every shorter length are then runs of the same order. Each run becomes a *list* of the documents it occurs in. Lists in
many documents go to a bit matrix (AND, count bits), the others are walked document by document.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isthmus._math.compiled import compiled

# -- Single machine instructions that numba does not offer by itself


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


VECTOR = 512  # bits in one vector; a machine with shorter ones takes several for each


@intrinsic
def common_bits(typingctx, matrix, j, i, n_words):
    """Bits that row j of a C-contiguous uint64 matrix shares with rows i, i+1, i+2, i+3; n_words whole vectors.

    Four vectors at a time are added bit by bit into ones, twos and fours, so that bits are counted (per byte) for the
    fours alone; ones and twos are counted after 28 vectors, when a byte may be full. Compilers do not find this in a
    loop over words.
    """

    def build(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        word = ir.IntType(64)
        sizes = ((w, VECTOR // w) for w in (8, 16, 32))
        octets, halves, lanes = (ir.VectorType(ir.IntType(width), times) for width, times in sizes)
        # llvmlite's own ctpop takes integers only; the instruction itself takes vectors.
        count = _function(builder, f"llvm.ctpop.v{octets.count}i8", octets, octets)
        add_up = _function(builder, f"llvm.vector.reduce.add.v{lanes.count}i32", lanes.element, lanes)
        base = builder.bitcast(array.data, word.as_pointer())
        n_words = args[3]
        row_j = builder.gep(base, [builder.mul(args[1], n_words)])
        rows = [builder.gep(base, [builder.mul(builder.add(args[2], ir.Constant(word, r)), n_words)]) for r in range(4)]
        totals = [cgutils.alloca_once_value(builder, ir.Constant(lanes, None)) for _ in rows]
        ones, twos, counts = ([cgutils.alloca_once(builder, octets) for _ in rows] for _ in range(3))

        def vector(row, at):
            return builder.load(builder.bitcast(builder.gep(row, [at]), octets.as_pointer()), align=8)

        def doubled(x, times):
            return builder.shl(x, ir.Constant(octets, [times] * octets.count))

        def add_to(place, x):
            builder.store(builder.add(builder.load(place), x), place)

        def ones_of(x):
            return builder.call(count, [x])

        zero, single, four, chunk = (ir.Constant(word, k * VECTOR // 64) for k in (0, 1, 4, 28))
        with cgutils.for_range_slice(builder, zero, n_words, chunk, word) as (k0, _):
            for place in (*ones, *twos, *counts):
                builder.store(ir.Constant(octets, None), place)
            k1 = builder.add(k0, chunk)
            k1 = builder.select(builder.icmp_signed("<", k1, n_words), k1, n_words)
            fours_end = builder.add(k0, builder.mul(builder.sdiv(builder.sub(k1, k0), four), four))
            with cgutils.for_range_slice(builder, k0, fours_end, four, word) as (k, _):
                places = [builder.add(k, ir.Constant(word, m * VECTOR // 64)) for m in range(4)]
                mine = [vector(row_j, at) for at in places]
                for row, one, two, found in zip(rows, ones, twos, counts, strict=True):
                    both = [builder.and_(x, vector(row, at)) for x, at in zip(mine, places, strict=True)]
                    rest, first = _add_bits(builder, builder.load(one), both[0], both[1])
                    rest, second = _add_bits(builder, rest, both[2], both[3])
                    builder.store(rest, one)
                    rest, fours = _add_bits(builder, builder.load(two), first, second)
                    builder.store(rest, two)
                    add_to(found, ones_of(fours))
            for one, two, found in zip(ones, twos, counts, strict=True):
                low = builder.add(ones_of(builder.load(one)), doubled(ones_of(builder.load(two)), 1))
                builder.store(builder.add(doubled(builder.load(found), 2), low), found)
            with cgutils.for_range_slice(builder, fours_end, k1, single, word) as (k, _):
                mine = vector(row_j, k)
                for row, found in zip(rows, counts, strict=True):
                    add_to(found, ones_of(builder.and_(mine, vector(row, k))))
            for found, total in zip(counts, totals, strict=True):
                add_to(total, _pairwise(builder, _pairwise(builder, builder.load(found), halves), lanes))
        results = [builder.call(add_up, [builder.load(total)]) for total in totals]
        return context.make_tuple(builder, signature.return_type, results)

    signature = types.UniTuple(types.int32, 4)(types.Array(types.uint64, 2, "C"), types.int64, types.int64, types.int64)
    return signature, build


def _function(builder, name, result, argument):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, [argument]), name)


def _add_bits(builder, a, b, c):
    """Three bits added in every place: the sum's lower and its upper bit."""
    odd = builder.xor(a, b)
    return builder.xor(odd, c), builder.or_(builder.and_(a, b), builder.and_(odd, c))


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


DIGIT = 11  # bits per pass of the radix sort: 2,048 counters stay in the first-level cache
AHEAD = 6  # lists asked for before they are needed …
LINE, LINES = 32, 9  # … so many documents at a time, so many times at most
GROUP, TILE = 32, 64  # rows of the bit matrix compared in one go
LOOK_BACK = 8  # how many kept lists a new list is compared with before it is kept itself
TOP_WEIGHT = 65535  # weights and places share one 64-bit entry


@compiled
def pack_keys(ranks, offsets, width, bits, keys, doc_of):
    """Key of each position: the next ``width`` symbols, first symbol on top, zeros past the end of the document."""
    top = np.uint64(bits * (width - 1))
    shift = np.uint64(bits)
    for d in range(len(offsets) - 1):
        key = np.uint64(0)
        for p in range(offsets[d + 1] - 1, offsets[d] - 1, -1):
            key = (key >> shift) | (np.uint64(ranks[p]) << top)
            keys[p] = key
            doc_of[p] = d


@compiled
def long_enough(offsets, lo, pos):
    """Positions where an n-gram of length ``lo`` fits, in order; their number is returned."""
    k = 0
    for d in range(len(offsets) - 1):
        for p in range(offsets[d], offsets[d + 1] - lo + 1):
            pos[k] = p
            k += 1
    return k


@compiled
def gather_words(keys, pos, doc_of, offsets, ahead, out):
    """Key ``ahead`` symbols further on for each position; zero when the document has ended by then."""
    for t in range(len(pos)):
        p = np.int64(pos[t])
        q = p + ahead
        out[t] = keys[q] if q < offsets[doc_of[p] + 1] else np.uint64(0)


@compiled
def radix_sort(key_a, pos_a, key_b, pos_b, bits):
    """Stable sort by the lowest ``bits`` of the keys. True when the result lies in (key_b, pos_b)."""
    n = len(key_a)
    passes = (bits + DIGIT - 1) // DIGIT
    digit = (bits + passes - 1) // passes
    size = 1 << digit
    mask = np.uint64(size - 1)
    counts = np.zeros((passes, size), np.int64)
    for t in range(n):
        key = key_a[t]
        for k in range(passes):
            counts[k, (key >> np.uint64(k * digit)) & mask] += 1
    swapped = False
    for k in range(passes):
        shift = np.uint64(k * digit)
        place = counts[k]
        if place[(key_a[0] >> shift) & mask] == n:
            continue
        running = 0
        for c in range(size):
            running, place[c] = running + place[c], running
        for t in range(n):
            key = key_a[t]
            c = (key >> shift) & mask
            at = place[c]
            place[c] = at + 1
            key_b[at] = key
            pos_b[at] = pos_a[t]
        key_a, key_b = key_b, key_a
        pos_a, pos_b = pos_b, pos_a
        swapped = not swapped
    return swapped


@compiled
def shared_prefix(key, keys, pos, doc_of, offsets, width, bits, hi, lcp, fit, docs):
    """Symbols each n-gram shares with the one before it, symbols left in its document (both ≤ hi), its document.

    ``key`` has the first word of each; further ones are compared only where needed.
    """
    unused = 64 - bits * width
    lcp[0] = 0
    for t in range(len(pos)):
        p = np.int64(pos[t])
        end = offsets[doc_of[p] + 1]
        docs[t] = doc_of[p]
        fit[t] = min(end - p, hi)
        if t == 0:
            continue
        q = np.int64(pos[t - 1])
        before_end = offsets[docs[t - 1] + 1]
        x = key[t] ^ key[t - 1]
        shared = 0
        while x == 0:
            shared += width
            if shared >= hi:
                break
            a = keys[p + shared] if p + shared < end else np.uint64(0)
            b = keys[q + shared] if q + shared < before_end else np.uint64(0)
            x = a ^ b
        if x != 0:
            shared += (np.int64(leading_zeros(x)) - unused) // bits
        lcp[t] = min(shared, hi)


@compiled
def collect(docs, pos, before, start, end, df, out, at, marks):
    """Write the distinct documents of the run start..end-1 to out[at:], ascending; return the run's first position."""
    first = np.int64(pos[start])
    if df > 24:
        low, high = len(marks), -1
        for u in range(start, end):
            word = np.int64(docs[u]) >> 6
            marks[word] |= np.uint64(1) << np.uint64(docs[u] & 63)
            low = min(low, word)
            high = max(high, word)
            first = min(first, np.int64(pos[u]))
        for word in range(low, high + 1):
            x = marks[word]
            marks[word] = 0
            while x != 0:
                out[at] = word * 64 + np.int64(trailing_zeros(x))
                at += 1
                x &= x - np.uint64(1)
        return first
    end_at = at
    for u in range(start, end):
        if before[u] >= start:
            continue
        d = docs[u]
        first = min(first, np.int64(pos[u]))
        k = end_at - 1
        while k >= at and out[k] > d:
            out[k + 1] = out[k]
            k -= 1
        out[k + 1] = d
        end_at += 1
    return first


@compiled
def _both_sides(lists, start, end, split):
    """Whether a sorted list has documents on both sides of ``split``; always so when there is no split."""
    return split == 0 or (lists[start] < split and lists[end - 1] >= split)


@compiled
def _collect_repeats(docs, start, end, split, lists, starts, weights, firsts, n_lists, count):
    """Lists of the documents with at least 2, 3, … occurrences, each filtered from the one before (just written)."""
    most = 0
    for u in range(start, end):
        count[docs[u]] += 1
        most = max(most, count[docs[u]])
    source, size = starts[n_lists - 1], starts[n_lists] - starts[n_lists - 1]
    for k in range(2, most + 1):
        at = starts[n_lists]
        kept = 0
        for b in range(source, source + size):
            if count[lists[b]] >= k:
                lists[at + kept] = lists[b]
                kept += 1
        if kept < 2 or not _both_sides(lists, at, at + kept, split):
            break
        starts[n_lists + 1] = at + kept
        weights[n_lists] = 1
        firsts[n_lists] = firsts[n_lists - 1]
        n_lists += 1
        source, size = at, kept
    for u in range(start, end):
        count[docs[u]] = 0
    return n_lists


@compiled
def scan_runs(docs, pos, lcp, fit, n, lo, hi, split, counting, lists, starts, weights, firsts, diag):
    """One list of documents per n-gram (per n-gram and occurrence number when ``counting``); returns how many.

    ``before[t]`` is the last place before t with the same document: the document is new in every run that starts later,
    one comparison for all lengths. Lists with one document only touch the diagonal. An n-gram whose one-symbol
    extension occurs in as many documents has the same list: they are written once with weight 2, and so on over the
    lengths. ``size`` counts the documents of a run, and in its upper half those on the near side of ``split``.
    """
    levels, total = hi - lo + 1, len(docs)
    before = np.empty(total, np.int32)
    latest = np.full(n, -1, np.int32)
    count = np.zeros(n if counting else 1, np.int32)
    size = np.zeros(levels, np.int64)
    run = np.zeros(levels, np.int32)
    marks = np.zeros(n // 64 + 1, np.uint64)
    n_lists = 0
    starts[0] = 0
    for t in range(total + 1):
        shared = np.int64(lcp[t]) if t < total else 0
        if shared < hi:
            written = 0
            lowest = max(shared + 1 - lo, 0)
            for a in range(levels - 1, lowest - 1, -1):
                df, near = size[a] & 0xFFFFFFFF, size[a] >> 32
                size[a] = 0
                start = np.int64(run[a])
                run[a] = t
                if df < 2 or np.int64(fit[start]) < a + lo:
                    continue
                if split > 0 and (near == 0 or near == df):
                    written = 0
                    continue
                if df == written and (not counting or t - start == df):
                    weights[n_lists - 1] += 1
                    continue
                at = starts[n_lists]
                first = collect(docs, pos, before, start, t, df, lists, at, marks)
                starts[n_lists + 1] = at + df
                weights[n_lists] = 1
                firsts[n_lists] = first
                n_lists += 1
                written = df
                if counting and t - start > df:
                    n_lists = _collect_repeats(docs, start, t, split, lists, starts, weights, firsts, n_lists, count)
                    written = 0
        if t == total:
            break
        d = docs[t]
        previous = latest[d]
        latest[d] = t
        before[t] = previous
        valid = np.int64(fit[t]) - lo + 1
        fresh = 0
        one = np.int64(1) | (np.int64(d < split) << 32)
        for a in range(levels):
            is_new = np.int32(run[a] > previous)
            size[a] += is_new * one
            fresh += is_new * np.int32(a < valid)
        diag[d] += valid if counting else fresh
    return n_lists


@compiled
def merge_lists(order, lists, starts, weights, dense_from, out, out_starts, out_weights):
    """Copy the lists in ``order`` (by first position), identical neighbours merged, dense ones left out.

    Neighbouring n-grams of one phrase tend to have the same documents.
    """
    kept = 0
    out_starts[0] = 0
    for f in order:
        start, df = starts[f], starts[f + 1] - starts[f]
        if df >= dense_from:
            continue
        same = -1
        for g in range(kept - 1, max(kept - LOOK_BACK, 0) - 1, -1):
            at = out_starts[g]
            if out_starts[g + 1] - at != df or out_weights[g] + weights[f] > TOP_WEIGHT:
                continue
            k = 0
            while k < df and out[at + k] == lists[start + k]:
                k += 1
            if k == df:
                same = g
                break
        if same >= 0:
            out_weights[same] += weights[f]
            continue
        at = out_starts[kept]
        for k in range(df):
            out[at + k] = lists[start + k]
        out_starts[kept + 1] = at + df
        out_weights[kept] = weights[f]
        kept += 1
    return kept


@compiled
def fill_bits(lists, starts, weights, n_lists, dense_from, bits):
    """One bit column per dense list, repeated by its weight."""
    column = 0
    for f in range(n_lists):
        if starts[f + 1] - starts[f] < dense_from:
            continue
        for _ in range(weights[f]):
            word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
            for k in range(starts[f], starts[f + 1]):
                bits[lists[k], word] |= bit
            column += 1


@compiled
def count_entries(lists, starts, n_lists, split, pair_ptr, entry_ptr):
    """How many entries each document will have: single earlier documents, and longer stretches of earlier documents."""
    for f in range(n_lists):
        before = 0
        for k in range(starts[f], starts[f + 1]):
            d = lists[k]
            if split == 0 or d >= split:
                if before == 1:
                    pair_ptr[d + 1] += 1
                elif before > 1:
                    entry_ptr[d + 1] += 1
            if split == 0 or d < split:
                before += 1
    for d in range(len(pair_ptr) - 1):
        pair_ptr[d + 1] += pair_ptr[d]
        entry_ptr[d + 1] += entry_ptr[d]


@compiled
def fill_entries(lists, starts, weights, n_lists, split, pair_at, entry_at, pairs, entries):
    """Entries by document. pair: document << 32 | weight. entry: start << 32 | length << 16 | weight."""
    for f in range(n_lists):
        start = starts[f]
        weight = np.uint64(weights[f])
        base = np.uint64(start) << np.uint64(32)
        before = 0
        for k in range(start, starts[f + 1]):
            d = lists[k]
            if split == 0 or d >= split:
                if before == 1:
                    pairs[pair_at[d]] = (np.uint64(lists[start]) << np.uint64(32)) | weight
                    pair_at[d] += 1
                elif before > 1:
                    entries[entry_at[d]] = base | (np.uint64(before) << np.uint64(16)) | weight
                    entry_at[d] += 1
            if split == 0 or d < split:
                before += 1


@compiled
def add_rows(first, last, split, lists, pair_ptr, pairs, entry_ptr, entries, bits, out):
    """Kernel values of rows first..last-1 against the documents before them (before ``split`` in cross mode).

    ``out`` (int32) is overwritten from column 0 up to the row's own number, or to ``split``.
    """
    low16 = np.uint64(65535)
    for i in range(first, last):
        row = out[i - first]
        row[: split if split > 0 else i] = 0
        for e in range(pair_ptr[i], pair_ptr[i + 1]):
            pair = pairs[e]
            row[pair >> np.uint64(32)] += np.int32(pair & low16)
        last_entry = entry_ptr[i + 1]
        for e in range(entry_ptr[i], last_entry):
            entry = entries[e]
            k = entry >> np.uint64(32)
            end = k + ((entry >> np.uint64(16)) & low16)
            weight = np.int32(entry & low16)
            if e + AHEAD < last_entry:
                later = entries[e + AHEAD]
                at = np.int64(later >> np.uint64(32))
                # All of its first lines: processors foresee later ones only after they have seen some.
                beyond = at + min(np.int64((later >> np.uint64(16)) & low16), LINES * LINE)
                while at < beyond:
                    prefetch(lists, at)
                    at += LINE
            while k + np.uint64(4) <= end:
                row[lists[k]] += weight
                row[lists[k + np.uint64(1)]] += weight
                row[lists[k + np.uint64(2)]] += weight
                row[lists[k + np.uint64(3)]] += weight
                k += np.uint64(4)
            while k < end:
                row[lists[k]] += weight
                k += np.uint64(1)
    if bits.shape[1] > 0:
        _add_common_bits(first, last, split, bits, out)


@compiled
def _add_common_bits(first, last, split, bits, out):
    """Tiles of GROUP rows by TILE earlier rows, so that both sides of the AND stay in the first-level cache."""
    n_words = bits.shape[1]
    for i0 in range(first, last, GROUP):
        i1 = min(i0 + GROUP, last)
        end = split if split > 0 else i1 - 1
        for j0 in range(0, end, TILE):
            j1 = min(j0 + TILE, end)
            for i in range(i0, i1, 4):
                for j in range(j0, j1 if split > 0 else min(j1, i + 3)):
                    # Rows past the end of the block are counted as well and thrown away: bits has spare rows.
                    found = common_bits(bits, j, i, n_words)
                    for r in range(min(4, i1 - i)):
                        if split > 0 or i + r > j:
                            out[i + r - first, j] += found[r]


# -- The spectrum kernel, where counts are multiplied


@compiled
def scan_counts(docs, pos, lcp, fit, n, lo, hi, lists, counts, starts, diag):
    """Lists as in :func:`scan_runs`, each document with its number of occurrences; nothing is merged."""
    levels, total = hi - lo + 1, len(docs)
    before = np.empty(total, np.int32)
    latest = np.full(n, -1, np.int32)
    count = np.zeros(n, np.int32)
    size = np.zeros(levels, np.int32)
    run = np.zeros(levels, np.int32)
    marks = np.zeros(n // 64 + 1, np.uint64)
    n_lists = 0
    starts[0] = 0
    for t in range(total + 1):
        shared = np.int64(lcp[t]) if t < total else 0
        for a in range(levels - 1, max(shared + 1 - lo, 0) - 1, -1):
            df, start = np.int64(size[a]), np.int64(run[a])
            size[a] = 0
            run[a] = t
            if df == 0 or np.int64(fit[start]) < a + lo:
                continue
            if df == 1:
                diag[docs[start]] += (t - start) * (t - start)
                continue
            at = starts[n_lists]
            collect(docs, pos, before, start, t, df, lists, at, marks)
            for u in range(start, t):
                count[docs[u]] += 1
            for k in range(at, at + df):
                d = lists[k]
                counts[k] = count[d]
                diag[d] += np.int64(count[d]) * count[d]
                count[d] = 0
            n_lists += 1
            starts[n_lists] = at + df
        if t == total:
            break
        previous = latest[docs[t]]
        latest[docs[t]] = t
        before[t] = previous
        for a in range(levels):
            size[a] += np.int32(run[a] > previous)
    return n_lists


@compiled
def add_count_rows(first, last, split, lists, counts, starts, entry_ptr, places, owners, out):
    """Rows of the spectrum kernel (int64): every list entry of a row, times the counts of the documents before it."""
    for i in range(first, last):
        row = out[i - first]
        row[: split if split > 0 else i] = 0
        for e in range(entry_ptr[i], entry_ptr[i + 1]):
            place = places[e]
            own = np.int64(counts[place])
            for k in range(starts[owners[e]], place):
                if split > 0 and lists[k] >= split:
                    break
                row[lists[k]] += own * counts[k]


@compiled
def place_entries(lists, starts, n_lists, at, places, owners):
    """For each document, where it stands in each of its lists; ``at`` is the running end of each document's stretch."""
    for f in range(n_lists):
        for k in range(starts[f], starts[f + 1]):
            d = lists[k]
            places[at[d]] = k
            owners[at[d]] = f
            at[d] += 1


# -- One further sequence against sorted places
