# mypy: ignore-errors
"""Compiled kernels behind :mod:`isthmus.features.gram`.

All positions of all sequences are sorted once by the n-gram of the greatest length that starts there. The n-grams of
every shorter length are runs of the same order, and each run becomes the list of the documents that have the n-gram.
Lists of many documents become columns of a bit matrix (AND, then count the bits); rows of the kernel walk through the
other lists.
"""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled

DIGIT = 11  # bits per pass of the radix sort: 2,048 counters stay in the first-level cache
GROUP, TILE = 32, 64  # rows of the bit matrix compared at a time
LOOK_BACK = 8  # stored lists that a new list is compared with before it is stored itself
TOP_WEIGHT = 65_535  # a list's length and weight share a 64-bit entry with its start, 16 bits each
FEW = 24  # documents of a list up to which insertion sorts fastest
PRESENCE, INTERSECTION, SPECTRUM = range(3)


@compiled
def bit_count(x):
    """Return the number of one bits of a 64-bit word; LLVM turns this formula into a vector instruction."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


# -- Positions in the order of their n-grams


@compiled
def pack_keys(ranks, offsets, width, bits, keys, doc_of):
    """Write the key of each position: the next ``width`` symbols, the first on top, zeros past the document's end."""
    top = np.uint64(bits * (width - 1))
    for d in range(len(offsets) - 1):
        # From the end, so that each key is the one before it, shifted by a symbol.
        key = np.uint64(0)
        for p in range(offsets[d + 1] - 1, offsets[d] - 1, -1):
            key = (key >> np.uint64(bits)) | (np.uint64(ranks[p]) << top)
            keys[p] = key
            doc_of[p] = d


@compiled
def long_enough(offsets, lo, pos):
    """Write the positions where an n-gram of length ``lo`` fits, in order, and return their number."""
    k = 0
    for d in range(len(offsets) - 1):
        for p in range(offsets[d], offsets[d + 1] - lo + 1):
            pos[k] = p
            k += 1
    return k


@compiled
def gather_words(keys, pos, doc_of, offsets, ahead, out):
    """Write the key ``ahead`` symbols after each position; zero where the document has ended by then."""
    for t in range(len(pos)):
        p = np.int64(pos[t])
        q = p + ahead
        out[t] = keys[q] if q < offsets[doc_of[p] + 1] else np.uint64(0)


@compiled
def radix_sort(key_a, pos_a, key_b, pos_b, bits):
    """Sort stably by the lowest ``bits`` of the keys; return whether the result lies in (key_b, pos_b)."""
    n = len(key_a)
    passes = (bits + DIGIT - 1) // DIGIT
    digit = (bits + passes - 1) // passes
    size = 1 << digit
    mask = np.uint64(size - 1)
    counts = np.zeros((passes, size), np.int64)
    for t in range(n):
        for k in range(passes):
            counts[k, (key_a[t] >> np.uint64(k * digit)) & mask] += 1
    swapped = False
    for k in range(passes):
        shift = np.uint64(k * digit)
        place = counts[k]
        if place.max() == n:  # every key has the same digit
            continue
        # Counts become the first place of each digit.
        running = 0
        for c in range(size):
            running, place[c] = running + place[c], running
        for t in range(n):
            c = (key_a[t] >> shift) & mask
            at = place[c]
            place[c] = at + 1
            key_b[at] = key_a[t]
            pos_b[at] = pos_a[t]
        key_a, key_b = key_b, key_a
        pos_a, pos_b = pos_b, pos_a
        swapped = not swapped
    return swapped


@compiled
def shared_prefix(key, keys, pos, doc_of, offsets, width, bits, hi, lcp, fit, docs):
    """Write the symbols each n-gram shares with the one before it, those left in its document, and its document.

    Both numbers of symbols are at most ``hi``. ``key`` has the first word of each n-gram; further words are compared
    only where the first ones are equal.
    """
    for t in range(len(pos)):
        p = np.int64(pos[t])
        end = offsets[doc_of[p] + 1]
        docs[t] = doc_of[p]
        fit[t] = min(end - p, hi)
        lcp[t] = 0
        if t == 0:
            continue
        q = np.int64(pos[t - 1])
        end_before = offsets[docs[t - 1] + 1]
        # Differing bits; the highest one shows the first symbol that differs.
        x = key[t] ^ key[t - 1]
        shared = 0
        while x == 0 and shared + width < hi:
            shared += width
            a = keys[p + shared] if p + shared < end else np.uint64(0)
            b = keys[q + shared] if q + shared < end_before else np.uint64(0)
            x = a ^ b
        symbol = np.uint64(((1 << bits) - 1) << (bits * (width - 1)))
        for _ in range(width):  # symbol by symbol from the top of the word
            if x & symbol != 0:
                break
            shared += 1
            symbol >>= np.uint64(bits)
        lcp[t] = min(shared, hi)


# -- Lists of documents


@compiled
def collect(docs, pos, before, start, end, lists, at, df):
    """Write the ``df`` distinct documents of the run start..end-1 to lists[at:], ascending.

    Returns the run's first position.
    """
    first, n = np.int64(pos[start]), at
    for u in range(start, end):
        if before[u] < start:
            d, k = docs[u], n
            first = min(first, np.int64(pos[u]))
            if df <= FEW:
                while k > at and lists[k - 1] > d:
                    lists[k] = lists[k - 1]
                    k -= 1
            lists[k] = d
            n += 1
    if df > FEW:
        lists[at:n].sort()
    return first


@compiled
def collect_repeats(count, split, lists, starts, weights, firsts, n_lists):
    """Add lists of the documents with at least 2, 3, … occurrences, each a part of the one before; return their number.

    min(a, b) = Σ_k [a ≥ k]·[b ≥ k] needs one list for each number of occurrences.
    """
    k = 2
    while True:
        at = starts[n_lists]
        n = at
        for b in range(starts[n_lists - 1], at):
            if count[lists[b]] >= k:
                lists[n] = lists[b]
                n += 1
        # A list of one document, or of one side, adds nothing off the diagonal.
        if n - at < 2 or not (split == 0 or (lists[at] < split and lists[n - 1] >= split)):
            return n_lists
        starts[n_lists + 1] = n
        weights[n_lists] = 1
        firsts[n_lists] = firsts[n_lists - 1]
        n_lists += 1
        k += 1


@compiled
def scan_runs(docs, pos, lcp, fit, n, lo, hi, split, kind, lists, counts, starts, weights, firsts, diag):
    """Write one list of documents per n-gram, and per number of occurrences for the intersection; return their number.

    ``before[t]`` is the last place before t with the same document. The document is new in every run that starts later:
    one comparison for all lengths. Lists with one document only add to the diagonal. An n-gram whose extension by one
    symbol occurs in as many documents has the same list, which is written once with weight 2, and so on over the
    lengths. ``size`` has the number of documents of a run, and in its upper half those below ``split``. Lists of the
    spectrum have the number of occurrences in each document in ``counts``.
    """
    levels, total = hi - lo + 1, len(docs)
    before = np.empty(total, np.int32)
    # Last place of each document so far.
    latest = np.full(n, -1, np.int32)
    count = np.zeros(n, np.int32)
    size = np.zeros(levels, np.int64)
    run = np.zeros(levels, np.int32)
    n_lists = 0
    starts[0] = 0
    for t in range(total + 1):
        shared = np.int64(lcp[t]) if t < total else 0
        if shared < hi:
            written = 0
            for a in range(levels - 1, max(shared + 1 - lo, 0) - 1, -1):
                df, near = size[a] & 0xFFFFFFFF, size[a] >> 32
                size[a] = 0
                start = np.int64(run[a])
                run[a] = t
                if df < (1 if kind == SPECTRUM else 2) or np.int64(fit[start]) < a + lo:
                    continue
                repeated = kind != PRESENCE and t - start > df
                if kind == SPECTRUM or repeated:
                    for u in range(start, t):
                        count[docs[u]] += 1
                if kind == SPECTRUM:
                    for u in range(start, t):
                        diag[docs[u]] += np.int64(count[docs[u]])  # c times c
                if df < 2 or (split > 0 and (near == 0 or near == df)):
                    written = 0
                elif df == written and not repeated and kind != SPECTRUM:
                    weights[n_lists - 1] += 1
                else:
                    at = starts[n_lists]
                    firsts[n_lists] = collect(docs, pos, before, start, t, lists, at, df)
                    starts[n_lists + 1] = at + df
                    weights[n_lists] = 1
                    n_lists += 1
                    written = df
                    if kind == SPECTRUM:
                        for k in range(at, at + df):
                            counts[k] = count[lists[k]]
                    elif repeated:
                        n_lists = collect_repeats(count, split, lists, starts, weights, firsts, n_lists)
                        written = 0
                if kind == SPECTRUM or repeated:
                    for u in range(start, t):
                        count[docs[u]] = 0
        if t == total:
            break
        d = docs[t]
        before[t] = latest[d]
        latest[d] = t
        valid = np.int64(fit[t]) - lo + 1
        fresh = 0
        # One document in the lower half, and one in the upper half if it is below ``split``.
        one = np.int64(1) | (np.int64(d < split) << 32)
        for a in range(levels):
            is_new = np.int32(run[a] > before[t])
            size[a] += is_new * one
            fresh += is_new * np.int32(a < valid)
        if kind != SPECTRUM:
            diag[d] += valid if kind == INTERSECTION else fresh
    return n_lists


@compiled
def merge_lists(order, lists, starts, weights, dense_from, out, out_starts, out_weights):
    """Copy the lists in ``order`` (by first position) without the dense ones, equal neighbours as one; return how many.

    Neighbouring n-grams of one phrase often have the same documents.
    """
    kept = 0
    out_starts[0] = 0
    # Neighbouring n-grams are compared, because texts repeat phrases.
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
    """Write one bit column per dense list, repeated by its weight."""
    column = 0
    for f in range(n_lists):
        if starts[f + 1] - starts[f] >= dense_from:
            for _ in range(weights[f]):
                word, bit = column >> 6, np.uint64(1) << np.uint64(column & 63)
                for k in range(starts[f], starts[f + 1]):
                    bits[lists[k], word] |= bit
                column += 1


# -- Rows of the kernel


@compiled
def count_entries(lists, starts, n_lists, split, entry_ptr):
    """Write where the entries of each document begin: one for each of its lists with earlier documents."""
    for f in range(n_lists):
        for k in range(starts[f] + (split == 0), starts[f + 1]):
            entry_ptr[lists[k] + 1] += lists[k] >= split
    for d in range(len(entry_ptr) - 1):
        entry_ptr[d + 1] += entry_ptr[d]


@compiled
def fill_entries(lists, starts, weights, n_lists, split, counted, entry_at, entries):
    """Write entries by document: start of the list << 32 | number of earlier documents << 16 | weight.

    ``counted``, for lists with counts, which have no weight: start of the list << 32 | number of earlier documents.
    """
    for f in range(n_lists):
        start, before = starts[f], 0
        for k in range(start, starts[f + 1]):
            d = lists[k]
            if d >= split and before > 0:
                part = before if counted else (before << 16) | weights[f]
                entries[entry_at[d]] = (np.uint64(start) << np.uint64(32)) | np.uint64(part)
                entry_at[d] += 1
            before += split == 0 or d < split


@compiled
def add_rows(first, last, split, lists, entry_ptr, entries, bits, out):
    """Write kernel values of rows first..last-1 against the documents before them (before ``split`` in cross mode).

    ``out`` (int32) is overwritten from column 0 up to the row's own number, or to ``split``.
    """
    low16 = np.uint64(65535)
    for i in range(first, last):
        row = out[i - first]
        # The buffer holds an earlier block.
        row[: split if split > 0 else i] = 0
        for e in range(entry_ptr[i], entry_ptr[i + 1]):
            k = entries[e] >> np.uint64(32)
            end = k + ((entries[e] >> np.uint64(16)) & low16)
            weight = np.int32(entries[e] & low16)
            while k < end:
                row[lists[k]] += weight
                k += np.uint64(1)
    n_words = bits.shape[1]
    # Tiles of GROUP rows by TILE earlier rows, so that both sides of the AND stay in the first-level cache.
    for i0 in range(first, last if n_words > 0 else first, GROUP):
        i1 = min(i0 + GROUP, last)
        end = split if split > 0 else i1 - 1
        for j0 in range(0, end, TILE):
            for i in range(i0, i1):
                for j in range(j0, min(j0 + TILE, end if split > 0 else i)):
                    found = np.uint64(0)
                    for k in range(n_words):
                        found += bit_count(bits[i, k] & bits[j, k])
                    out[i - first, j] += np.int32(found)


@compiled
def add_count_rows(first, last, split, lists, counts, entry_ptr, entries, out):
    """Write rows of the spectrum kernel (int64), as :func:`add_rows`: sums of products of counts."""
    for i in range(first, last):
        row = out[i - first]
        row[: split if split > 0 else i] = 0
        for e in range(entry_ptr[i], entry_ptr[i + 1]):
            start = np.int64(entries[e] >> np.uint64(32))
            end = start + np.int64(entries[e] & np.uint64(0xFFFFFFFF))
            # The document itself is behind the earlier documents of its list.
            place = end
            while lists[place] != i:  # in cross mode other documents may come between
                place += 1
            own = np.int64(counts[place])
            for k in range(start, end):
                row[lists[k]] += own * counts[k]
