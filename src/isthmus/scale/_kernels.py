"""Compiled loops over the documents of a block.

Every sum over documents is one of integers: counts, or values in fixed point. Such a sum is the same to the last bit
however the documents are cut into blocks, whoever adds them and in which order, which no sum of floats is. What is done
to one document reads that document alone, one entry after the other.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def number_keys(keys):
    """Numbers 0, 1, … of the different keys, in the order in which they first occur, and these keys.

    A table of twice the size of the input, at whose ends the search begins anew: many times as fast as sorting.
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
        place = np.int64((np.uint64(key) * factor) >> shift)
        while table[place] >= 0 and distinct[table[place]] != key:
            place = (place + 1) & ((1 << bits) - 1)
        if table[place] < 0:
            table[place] = count
            distinct[count] = key
            count += 1
        numbers[at] = table[place]
    return numbers, distinct[:count].copy()


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def place_terms(packed, count, slots, hashes, starts, arena, n, grow):
    """Number of each of ``count`` packed terms in a table of ``n``, told by their bytes, and how many it has now.

    ``slots`` has the numbers by hash, ``starts`` where the bytes of each begin in ``arena``. A term that is not there
    is added with ``grow``, and gets -1 without.
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


@njit(cache=True, nogil=True)
def place_hashes(hashes, slots):
    """Put the numbers of all hashes into empty slots."""
    mask = np.uint64(slots.shape[0] - 1)
    for number in range(hashes.shape[0]):
        place = np.int64((hashes[number] ^ (hashes[number] >> np.uint64(32))) & mask)
        while slots[place] >= 0:
            place = np.int64(np.uint64(place + 1) & mask)
        slots[place] = number


@njit(cache=True, nogil=True)
def take_packed(packed, starts, order):
    """Packed terms in another order; ``starts`` is where each begins, and the end of all."""
    size = 0
    for own in order:
        size += starts[own + 1] - starts[own]
    taken = np.empty(size, np.uint8)
    at = 0
    for own in order:
        for i in range(starts[own], starts[own + 1]):
            taken[at] = packed[i]
            at += 1
    return taken


@njit(cache=True, nogil=True)
def document_frequency(ids, ends, n_terms):
    """In how many documents each local term occurs."""
    frequency = np.zeros(n_terms, np.int64)
    last = np.full(n_terms, -1, np.int64)
    at = 0
    for row in range(ends.shape[0]):
        while at < ends[row]:
            term = ids[at]
            if last[term] != row:
                last[term] = row
                frequency[term] += 1
            at += 1
    return frequency


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _find(sorted_keys, key):
    low, high = 0, sorted_keys.shape[0]
    while low < high:
        middle = (low + high) // 2
        if sorted_keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < sorted_keys.shape[0] and sorted_keys[low] == key else -1


@njit(cache=True, nogil=True)
def count_rows(ids, ends, solo, column, pairs, width):
    """CSR arrays of the documents: columns of single terms, then those of the pairs, and how often each occurs."""
    size = ids.shape[0] * (2 if pairs.shape[0] else 1)
    indptr = np.zeros(ends.shape[0] + 1, np.int64)
    indices = np.empty(size, np.int32)
    counts = np.empty(size, np.int32)
    found = np.empty(64, np.int32)
    at, filled = 0, 0
    for row in range(ends.shape[0]):
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
                    if after >= 0 and (solo.shape[0] == 0 or (solo[at] and solo[at + 1])):
                        place = _find(pairs, own * width + after)
                        if place >= 0:
                            found[n] = width + place
                            n += 1
            at += 1
        if n > 64:
            found[:n].sort()
        else:  # by insertion, which is quicker for few
            for i in range(1, n):
                own, j = found[i], i
                while j > 0 and found[j - 1] > own:
                    found[j] = found[j - 1]
                    j -= 1
                found[j] = own
        for i in range(n):
            if i > 0 and found[i] == found[i - 1]:
                counts[filled - 1] += 1
            else:
                indices[filled] = found[i]
                counts[filled] = 1
                filled += 1
        indptr[row + 1] = filled
    return indptr, indices[:filled].copy(), counts[:filled].copy()


@njit(cache=True, nogil=True)
def weigh_rows(indptr, indices, counts, idf, logs):
    """tf-idf of length one; ``logs`` holds 1 + log(count) for small counts, or the counts themselves."""
    values = np.empty(counts.shape[0])
    for row in range(indptr.shape[0] - 1):
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            count = counts[at]
            value = (logs[count] if count < logs.shape[0] else logs[logs.shape[0] - 1]) * idf[indices[at]]
            values[at] = value
            square += value * value
        length = math.sqrt(square) if square > 0.0 else 1.0
        for at in range(indptr[row], indptr[row + 1]):
            values[at] /= length
    return values


@njit(cache=True, nogil=True)
def row_scores(indptr, indices, values, weights, bias):
    """Σ value · weights[term, class] + bias, entry by entry."""
    n_classes = weights.shape[1]
    scores = np.empty((indptr.shape[0] - 1, n_classes))
    for row in range(indptr.shape[0] - 1):
        for c in range(n_classes):
            scores[row, c] = bias[c]
        for at in range(indptr[row], indptr[row + 1]):
            value = values[at]
            for c in range(n_classes):
                scores[row, c] += value * weights[indices[at], c]
    return scores


@njit(cache=True, nogil=True)
def best_by_weights(indptr, indices, counts, column, idf, weights, bias):
    """Place with the largest score of each row's tf-idf, rows of length one and 1 + log(count), the first of equals.

    ``column`` leads from the vocabulary to the few terms that weigh something, -1 for the others: their tables stay in
    the fastest memory.
    """
    best = np.zeros(indptr.shape[0] - 1, np.int32)
    scores = np.empty(bias.shape[0])
    for row in range(best.shape[0]):
        scores[:] = 0.0
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            term = column[indices[at]]
            if term >= 0:
                value = idf[term] if counts[at] == 1 else (1.0 + math.log(counts[at])) * idf[term]
                square += value * value
                for c in range(scores.shape[0]):
                    scores[c] += value * weights[term, c]
        length = math.sqrt(square) if square > 0.0 else 1.0
        for c in range(scores.shape[0]):
            scores[c] = scores[c] / length + bias[c]
            if scores[c] > scores[best[row]]:
                best[row] = c
    return best


@njit(cache=True, nogil=True)
def class_sums(indptr, indices, counts, term_class, weight, n_classes):
    """Σ count · weight over the terms of each class; terms of class -1 are left out."""
    sums = np.zeros((indptr.shape[0] - 1, n_classes))
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            term = indices[at]
            if term_class[term] >= 0:
                sums[row, term_class[term]] += counts[at] * weight[term]
    return sums


@njit(cache=True, nogil=True)
def best_classes(scores, power):
    """Class of each row by its scores, and the probability it gets from softmax(power · scores)."""
    labels = np.empty(scores.shape[0], np.int32)
    confidence = np.empty(scores.shape[0])
    for row in range(scores.shape[0]):
        best = 0
        for c in range(1, scores.shape[1]):
            if scores[row, c] > scores[row, best]:
                best = c
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(power * (scores[row, c] - scores[row, best]))
        labels[row] = best
        confidence[row] = 1.0 / total
    return labels, confidence


@njit(cache=True, nogil=True)
def log_softmax(scores):
    """Logarithms of probabilities, row by row."""
    out = np.empty_like(scores)
    for row in range(scores.shape[0]):
        highest = scores[row, 0]
        for c in range(1, scores.shape[1]):
            highest = max(highest, scores[row, c])
        total = 0.0
        for c in range(scores.shape[1]):
            total += math.exp(scores[row, c] - highest)
        for c in range(scores.shape[1]):
            out[row, c] = scores[row, c] - highest - math.log(total)
    return out


@njit(cache=True, nogil=True)
def leading_shares(features):
    """Class with the largest feature of each row, and by how much its share of the row leads; the first of equals."""
    labels = np.zeros(features.shape[0], np.int32)
    margins = np.zeros(features.shape[0])
    for row in range(features.shape[0]):
        total, first, second = 0.0, 0.0, 0.0
        for c in range(features.shape[1]):
            value = features[row, c]
            total += value
            if value > first:
                first, second = value, first
                labels[row] = c
            elif value > second:
                second = value
        if total > 0.0:
            margins[row] = first / total - second / total
    return labels, margins


@njit(cache=True, nogil=True)
def histogram(labels, values, n_classes, bins):
    """How many rows of each class have a value (0 to 1) in each of ``bins`` equal steps; rows of class -1 are none."""
    table = np.zeros((n_classes, bins), np.int64)
    for row in range(labels.shape[0]):
        if labels[row] >= 0:
            table[labels[row], min(bins - 1, int(values[row] * bins))] += 1
    return table


@njit(cache=True, nogil=True)
def _add_row(indptr, indices, values, row, slope, scale, out):
    """Add slope × row to the first rows of ``out`` and the slope itself to the one before the last, in fixed point."""
    width = slope.shape[0]
    for at in range(indptr[row], indptr[row + 1]):
        for c in range(width):
            out[indices[at], c] += np.int64(np.rint(slope[c] * values[at] * scale))
    for c in range(width):
        out[out.shape[0] - 2, c] += np.int64(np.rint(slope[c] * scale))


@njit(cache=True, nogil=True)
def logistic_pass(indptr, indices, values, codes, scores, moved, curved, scale, out):
    """Gradient and loss of logistic regression, or its Hessian times a direction whose scores are ``moved``.

    One column of scores: the second of two classes against the first. Rows without a class are left out.
    """
    width = scores.shape[1]
    chance, slope = np.empty(width), np.empty(width)
    last = out.shape[0] - 1
    for row in range(scores.shape[0]):
        if codes[row] < 0:
            continue
        if width == 1:
            score = scores[row, 0]
            small = math.exp(-abs(score))
            chance[0] = 1.0 / (1.0 + small) if score >= 0 else small / (1.0 + small)
            loss = math.log(1.0 + small) + max(score, 0.0) - (score if codes[row] == 1 else 0.0)
            slope[0] = chance[0] - (1.0 if codes[row] == 1 else 0.0)
            if curved:
                slope[0] = chance[0] * (1.0 - chance[0]) * moved[row, 0]
        else:
            highest = scores[row, 0]
            for c in range(1, width):
                highest = max(highest, scores[row, c])
            total = 0.0
            for c in range(width):
                chance[c] = math.exp(scores[row, c] - highest)
                total += chance[c]
            mean = 0.0
            for c in range(width):
                chance[c] /= total
                mean += chance[c] * moved[row, c]
            loss = math.log(total) + highest - scores[row, codes[row]]
            for c in range(width):
                slope[c] = (
                    chance[c] * (moved[row, c] - mean) if curved else chance[c] - (1.0 if c == codes[row] else 0.0)
                )
        out[last, 0] += np.int64(np.rint(min(loss, 60.0) * scale))
        _add_row(indptr, indices, values, row, slope, scale, out)


@njit(cache=True, nogil=True)
def hinge_pass(indptr, indices, values, codes, scores, moved, curved, scale, out):
    """The same for the squared hinge, one class against the others."""
    width = scores.shape[1]
    slope = np.empty(width)
    last = out.shape[0] - 1
    for row in range(scores.shape[0]):
        if codes[row] < 0:
            continue
        loss = 0.0
        for c in range(width):
            sign = 1.0 if (codes[row] == 1 if width == 1 else codes[row] == c) else -1.0
            slack = 1.0 - sign * scores[row, c]
            slope[c] = 0.0
            if slack > 0.0:
                loss += slack * slack
                slope[c] = 2.0 * moved[row, c] if curved else -2.0 * sign * slack
        out[last, 0] += np.int64(np.rint(min(loss, 60.0) * scale))
        _add_row(indptr, indices, values, row, slope, scale, out)


@njit(cache=True, nogil=True)
def best_by_terms(indptr, indices, counts, levels, scores, bias):
    """Class of each row with the largest Σ level · score of its terms + bias, the first of equals."""
    labels = np.zeros(indptr.shape[0] - 1, np.int32)
    own = np.empty(scores.shape[1])
    for row in range(labels.shape[0]):
        own[:] = bias
        for at in range(indptr[row], indptr[row + 1]):
            level, term = levels[counts[at]], indices[at]
            for c in range(own.shape[0]):
                own[c] += level * scores[term, c]
        for c in range(1, own.shape[0]):
            if own[c] > own[labels[row]]:
                labels[row] = c
    return labels


@njit(cache=True, nogil=True)
def best_by_groups(indptr, indices, counts, levels, group, scores):
    """The same where terms of one group have the same scores: that table stays in the fastest memory."""
    labels = np.zeros(indptr.shape[0] - 1, np.int32)
    own = np.empty(scores.shape[1])
    for row in range(labels.shape[0]):
        own[:] = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            level, term = levels[counts[at]], group[indices[at]]
            for c in range(own.shape[0]):
                own[c] += level * scores[term, c]
        for c in range(1, own.shape[0]):
            if own[c] > own[labels[row]]:
                labels[row] = c
    return labels


@njit(cache=True, nogil=True)
def list_moves(indptr, indices, weights, before, after, n_classes):
    """What rows that changed their class take from one column of a terms × classes table and bring to another.

    Places in the flat table, and integers to be added there; a row comes from class -1 where it had none.
    """
    size = 0
    for row in range(before.shape[0]):
        if before[row] != after[row]:
            size += (indptr[row + 1] - indptr[row]) * (2 if before[row] >= 0 else 1)
    places, values = np.empty(size, np.int64), np.empty(size, np.int64)
    n = 0
    for row in range(before.shape[0]):
        if before[row] != after[row]:
            for at in range(indptr[row], indptr[row + 1]):
                first = np.int64(indices[at]) * n_classes
                places[n], values[n] = first + after[row], weights[at]
                n += 1
                if before[row] >= 0:
                    places[n], values[n] = first + before[row], -weights[at]
                    n += 1
    return places, values


@njit(cache=True, nogil=True)
def add_at(table, places, values):
    """Add values at places of a flat table."""
    for at in range(places.shape[0]):
        table[places[at]] += values[at]


@njit(cache=True, nogil=True)
def add_under(indptr, indices, weights, labels, table):
    """Integer weights of the entries added to the column of their row's label; rows of label -1 are left out."""
    for row in range(indptr.shape[0] - 1):
        if labels[row] >= 0:
            for at in range(indptr[row], indptr[row + 1]):
                table[indices[at], labels[row]] += weights[at]


@njit(cache=True, nogil=True)
def add_products(indptr, indices, values, rows, scale, out):
    """Xᵀ · rows in fixed point."""
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            for j in range(rows.shape[1]):
                out[indices[at], j] += np.int64(np.rint(values[at] * rows[row, j] * scale))


@njit(cache=True, nogil=True)
def unit_rows(rows):
    """Rows scaled to length one, number by number; rows of zeros stay."""
    for row in range(rows.shape[0]):
        square = 0.0
        for j in range(rows.shape[1]):
            square += rows[row, j] * rows[row, j]
        length = math.sqrt(square) if square > 0.0 else 1.0
        for j in range(rows.shape[1]):
            rows[row, j] /= length


@njit(cache=True, nogil=True)
def row_lengths(indptr, indices, values, weights):
    """Length of each row with its entries multiplied by the weights of their columns."""
    lengths = np.empty(indptr.shape[0] - 1)
    for row in range(indptr.shape[0] - 1):
        square = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = values[at] * weights[indices[at]]
            square += value * value
        lengths[row] = math.sqrt(square)
    return lengths


@njit(cache=True, nogil=True)
def row_sums(indptr, values):
    """Sum of each row."""
    sums = np.zeros(indptr.shape[0] - 1)
    for row in range(indptr.shape[0] - 1):
        for at in range(indptr[row], indptr[row + 1]):
            sums[row] += values[at]
    return sums


@njit(cache=True, nogil=True)
def own_information(indptr, values, scale):
    """Σ v·log v over the entries and Σ r·log r over the rows' sums, in fixed point."""
    entries, rows = np.int64(0), np.int64(0)
    for row in range(indptr.shape[0] - 1):
        total = 0.0
        for at in range(indptr[row], indptr[row + 1]):
            value = values[at]
            total += value
            entries += np.int64(np.rint(value * math.log(value) * scale))
        if total > 0.0:
            rows += np.int64(np.rint(total * math.log(total) * scale))
    return entries, rows
