"""Compiled loops over the terms of a block: numbering, merging and counting them."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def number_keys(keys):
    """Numbers 0, 1, … of the different keys, in the order in which they first occur, and these keys.

    By a hash table of twice the size of the input: many times as fast as sorting.
    """
    bits = 4
    while (1 << bits) < 2 * keys.shape[0]:
        bits += 1
    table = np.full(1 << bits, -1, np.int32)
    numbers = np.empty(keys.shape[0], np.int32)
    distinct = np.empty(keys.shape[0], np.int64)
    shift, factor = np.uint64(64 - bits), np.uint64(0x9E3779B97F4A7C15)
    count = 0
    for at in range(keys.shape[0]):
        key = keys[at]
        # Multiplicative hashing: the top bits of the product are the slot.
        place = np.int64((np.uint64(key) * factor) >> shift)
        # Linear probing; the table is at most half full, so runs are short.
        while table[place] >= 0 and distinct[table[place]] != key:
            place = (place + 1) & ((1 << bits) - 1)
        if table[place] < 0:
            table[place] = count
            distinct[count] = key
            count += 1
        numbers[at] = table[place]
    return numbers, distinct[:count].copy()


@compiled
def pack_plain_words(text, ends):
    """Words of two and more small letters, each ended by a line feed, and how many each document has.

    ``text``: the documents' bytes one behind the other; ``ends``: where each of them ends.
    """
    packed = np.empty(text.shape[0] + ends.shape[0], np.uint8)  # a letter at the end of a document needs one more
    counts = np.zeros(ends.shape[0], np.int64)
    at, filled = 0, 0
    for row in range(ends.shape[0]):
        first = filled
        while at <= ends[row]:
            letter = text[at] if at < ends[row] else np.uint8(0)
            if 97 <= letter <= 122:
                packed[filled] = letter
                filled += 1
            # The word ends here; a single letter is no word and is overwritten.
            elif filled - first >= 2:
                packed[filled] = 10
                filled += 1
                first = filled
                counts[row] += 1
            else:
                filled = first
            at += 1
        at = ends[row]
    return packed[:filled].copy(), counts


@compiled
def hash_parts(packed, count, parts):
    """Part of each string by a hash of its bytes; a line feed ends a string."""
    part = np.empty(count, np.uint8)
    value, at = np.uint64(0xCBF29CE484222325), 0
    for i in range(packed.shape[0]):
        if packed[i] == 10:
            part[at] = (value >> np.uint64(32)) % np.uint64(parts)
            value, at = np.uint64(0xCBF29CE484222325), at + 1
        else:
            value = (value ^ np.uint64(packed[i])) * np.uint64(0x100000001B3)
    return part


@compiled
def place_terms(packed, count, slots, hashes, starts, arena, n, grow):
    """Place ``count`` packed terms in a table of ``n``; return the number of each and the new size of the table.

    Terms are compared by their bytes. ``slots`` has the numbers by hash, ``starts`` where the bytes of each begin in
    ``arena``. New terms are added with ``grow``, and get -1 without.
    """
    numbers = np.empty(count, np.int32)
    mask = np.uint64(slots.shape[0] - 1)
    value, first, at = np.uint64(0xCBF29CE484222325), 0, 0
    for i in range(packed.shape[0]):
        if packed[i] != 10:
            value = (value ^ np.uint64(packed[i])) * np.uint64(0x100000001B3)
            continue
        place = np.int64((value ^ (value >> np.uint64(32))) & mask)
        while slots[place] >= 0:
            own = slots[place]
            begin = starts[own]
            # Equal hashes and lengths are rare, so bytes are compared only then.
            same = hashes[own] == value and starts[own + 1] - begin == i + 1 - first
            at_byte = first
            while same and at_byte < i:
                same = arena[begin + at_byte - first] == packed[at_byte]
                at_byte += 1
            if same:
                break
            place = np.int64(np.uint64(place + 1) & mask)
        if slots[place] < 0 and grow:
            begin = starts[n]
            arena[begin : begin + i + 1 - first] = packed[first : i + 1]
            starts[n + 1] = begin + i + 1 - first
            hashes[n] = value
            slots[place] = n
            n += 1
        numbers[at] = slots[place]
        value, first, at = np.uint64(0xCBF29CE484222325), i + 1, at + 1
    return numbers, n


@compiled
def place_hashes(hashes, slots):
    """Put the numbers of all hashes into empty slots."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(hashes.shape[0]):
        place = np.int64((hashes[number] ^ (hashes[number] >> np.uint64(32))) & mask)
        while slots[place] >= 0:
            place = np.int64(np.uint64(place + 1) & mask)
        slots[place] = number


@compiled
def document_frequency(ids, ends, n_terms):
    """Return the number of documents with each term; ``ends`` has where the terms of each document end in ``ids``."""
    frequency = np.zeros(n_terms, np.int64)
    last = np.full(n_terms, -1, np.int64)
    at = 0
    for row in range(ends.shape[0]):
        while at < ends[row]:
            term = ids[at]
            # A term counts once per document.
            if last[term] != row:
                last[term] = row
                frequency[term] += 1
            at += 1
    return frequency


@compiled
def pair_keys(ids, ends, solo, column, width, keys, rows):
    """Key of each two neighbouring terms that are both in the vocabulary, and its document; how many there are."""
    count = 0
    at = 0
    for row in range(ends.shape[0]):
        while at < ends[row]:
            if at + 1 < ends[row]:
                a, b = column[ids[at]], column[ids[at + 1]]
                if a >= 0 and b >= 0 and (solo.shape[0] == 0 or (solo[at] and solo[at + 1])):
                    keys[count] = a * width + b
                    rows[count] = row
                    count += 1
            at += 1
    return count


@compiled
def count_rows(ids, ends, solo, column, pairs, width):
    """CSR arrays of the documents: columns of single terms, then those of the pairs, and how often each occurs."""
    size = ids.shape[0] * (2 if pairs.shape[0] else 1)
    indptr = np.zeros(ends.shape[0] + 1, np.int64)
    indices = np.empty(size, np.int32)
    counts = np.empty(size, np.int32)
    found = np.empty(64, np.int32)
    at, filled = 0, 0
    for row in range(ends.shape[0]):
        # A document has at most one pair for each term.
        need = 2 * (ends[row] - at)
        if need > found.shape[0]:
            found = np.empty(2 * need, np.int32)
        n = 0
        while at < ends[row]:
            own = column[ids[at]]
            if own >= 0:
                found[n] = own
                n += 1
                if pairs.shape[0] and at + 1 < ends[row]:
                    after = column[ids[at + 1]]
                    # Parts of a word that was cut form no pairs.
                    if after >= 0 and (solo.shape[0] == 0 or (solo[at] and solo[at + 1])):
                        key = own * width + after
                        place = np.searchsorted(pairs, key)
                        if place < pairs.shape[0] and pairs[place] == key:
                            found[n] = width + place
                            n += 1
            at += 1
        # Sorted columns, so that equal ones are neighbours and a row is in canonical form.
        found[:n].sort()
        for i in range(n):
            if i > 0 and found[i] == found[i - 1]:
                counts[filled - 1] += 1
            else:
                indices[filled] = found[i]
                counts[filled] = 1
                filled += 1
        indptr[row + 1] = filled
    return indptr, indices[:filled].copy(), counts[:filled].copy()
