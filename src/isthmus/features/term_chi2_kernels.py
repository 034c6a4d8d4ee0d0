"""Compiled loops of :mod:`isthmus.features.term_chi2`; ``term_chi2_loops`` calls them where tables are large."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def bucket_sizes(indptr, indices, data, codes, shift, n_buckets):
    """Entries above zero in each bucket of 2**shift neighbouring terms, as running starts; none of class -1."""
    sizes = np.zeros(n_buckets + 1, dtype=np.int64)
    for row in range(len(codes)):
        if codes[row] < 0:
            continue
        for k in range(indptr[row], indptr[row + 1]):
            if data[k] > 0.0:
                sizes[(indices[k] >> shift) + 1] += 1
    for bucket in range(n_buckets):  # numba's cumsum brings a second of code for its messages
        sizes[bucket + 1] += sizes[bucket]
    return sizes


@compiled
def fill_buckets(indptr, indices, data, codes, order, shift, starts):
    """Entries as (term, class, count), bucket after bucket; inside a bucket classes ascend, because ``order`` does.

    The tables of one bucket fit into the cache, those of all terms do not.
    """
    n_entries = starts[-1]
    term = np.empty(n_entries, dtype=np.int32)
    klass = np.empty(n_entries, dtype=np.int32)
    count = np.empty(n_entries, dtype=np.float64)
    place = starts.copy()
    for row in order:
        code = codes[row]
        for k in range(indptr[row], indptr[row + 1]):
            if data[k] > 0.0:
                bucket = indices[k] >> shift
                p = place[bucket]
                place[bucket] = p + 1
                term[p] = indices[k]
                klass[p] = code
                count[p] = data[k]
    return term, klass, count


@compiled
def reduce_entries(term, klass, count, n_terms):
    """Occurrences and documents of every (term, class) pair, terms in order, classes ascending within a term.

    An entry opens a new pair exactly when its class differs from the term's last one.
    """
    starts = np.zeros(n_terms + 1, dtype=np.int64)
    last = np.full(n_terms, -1, dtype=np.int32)
    for k in range(len(term)):
        t = term[k]
        if last[t] != klass[k]:
            last[t] = klass[k]
            starts[t + 1] += 1
    for t in range(n_terms):
        starts[t + 1] += starts[t]
        last[t] = -1
    place = starts[:-1] - 1
    pair_class = np.empty(starts[n_terms], dtype=np.int32)
    occurrences = np.empty(starts[n_terms], dtype=np.float64)
    documents = np.empty(starts[n_terms], dtype=np.int32)
    for k in range(len(term)):
        t = term[k]
        if last[t] != klass[k]:
            last[t] = klass[k]
            place[t] += 1
            pair_class[place[t]] = klass[k]
            occurrences[place[t]] = count[k]
            documents[place[t]] = 1
        else:
            occurrences[place[t]] += count[k]
            documents[place[t]] += 1
    return starts, pair_class, occurrences, documents


@compiled
def summarise_terms(starts, klass, joint, class_totals, everything, largest_first):
    """As in :mod:`isthmus.features.term_chi2_loops`; linear in the pairs that occur.

    Absent classes have a χ² above 0, too: N·n_t·n_c / ((N−n_t)(N−n_c)), summed from one constant.
    """
    n_terms = len(starts) - 1
    n_classes = len(class_totals)
    best_class = np.full(n_terms, -1, dtype=np.int32)
    best = np.zeros(n_terms)
    largest = np.zeros(n_terms)
    total = np.zeros(n_terms)
    odds = np.zeros(n_classes)
    for c in range(n_classes):
        if 0.0 < class_totals[c] < everything:
            odds[c] = class_totals[c] / (everything - class_totals[c])
    all_odds = odds.sum()
    others = everything / (everything - class_totals)
    for term in range(n_terms):
        n_t = 0.0
        for p in range(starts[term], starts[term + 1]):
            n_t += joint[p]
        if n_t <= 0.0 or n_t >= everything:
            continue
        absent_odds = all_odds
        of_term = everything / n_t / (everything - n_t)
        for p in range(starts[term], starts[term + 1]):
            c = klass[p]
            n_c = class_totals[c]
            absent_odds -= odds[c]
            if n_c <= 0.0 or n_c >= everything:
                continue
            gap = joint[p] - n_t * n_c / everything  # (AD−BC)/N
            value = gap * gap * everything / n_c * others[c]
            value *= of_term
            total[term] += value
            largest[term] = max(largest[term], value)
            if gap > 0.0 and value > best[term]:
                best[term] = value
                best_class[term] = c
        scale = everything * n_t / (everything - n_t)
        if starts[term + 1] - starts[term] < n_classes:
            # max: the remainder is a sum of odds, negative only by rounding
            total[term] += scale * max(absent_odds, 0.0)
            p = starts[term]
            for c in largest_first:
                present = False
                for q in range(p, starts[term + 1]):
                    if klass[q] == c:
                        present = True
                        break
                if not present:
                    largest[term] = max(largest[term], scale * odds[c])
                    break
    return best_class, best, largest, total


@compiled
def summarise_pairs(
    starts_a, class_a, joint_a, totals_a, everything_a, starts_b, class_b, joint_b, totals_b, everything_b
):
    n_terms, n_classes = len(starts_a) - 1, len(totals_a)
    best_class = np.full(n_terms, -1, dtype=np.int32)
    best, largest, total = np.zeros(n_terms), np.zeros(n_terms), np.zeros(n_terms)
    spread_a, spread_b = np.zeros(n_classes), np.zeros(n_classes)
    for c in range(n_classes):
        spread_a[c] = totals_a[c] * (everything_a - totals_a[c]) / max(everything_a, 1.0) ** 2
        spread_b[c] = totals_b[c] * (everything_b - totals_b[c]) / max(everything_b, 1.0) ** 2
    row = np.zeros(n_classes)
    for term in range(n_terms):
        row[:] = 0.0
        n_a, n_b = 0.0, 0.0
        for p in range(starts_a[term], starts_a[term + 1]):
            row[class_a[p]] += joint_a[p]
            n_a += joint_a[p]
        for p in range(starts_b[term], starts_b[term + 1]):
            row[class_b[p]] += joint_b[p]
            n_b += joint_b[p]
        if n_a + n_b <= 0.0:
            continue
        rate_a, rate_b = n_a / max(everything_a, 1.0), n_b / max(everything_b, 1.0)
        for c in range(n_classes):
            gap = row[c] - rate_a * totals_a[c] - rate_b * totals_b[c]
            variance = n_a * (1.0 - rate_a) * spread_a[c] + n_b * (1.0 - rate_b) * spread_b[c]
            if variance <= 0.0:
                continue
            value = gap * gap / variance
            total[term] += value
            largest[term] = max(largest[term], value)
            if gap > 0.0 and value > best[term]:
                best[term] = value
                best_class[term] = c
    return best_class, best, largest, total


@compiled
def pooled_ratios(starts_a, class_a, docs_a, sizes_a, starts_b, class_b, docs_b, sizes_b, chosen, smoothing):
    n_terms = len(starts_a) - 1
    ratios = np.ones(n_terms)
    n_a, n_b = max(sizes_a.sum(), 1.0), max(sizes_b.sum(), 1.0)
    for term in range(n_terms):
        c = chosen[term]
        if c < 0:
            continue
        inside, outside = 0.0, 0.0
        for p in range(starts_a[term], starts_a[term + 1]):
            if class_a[p] == c:
                inside += docs_a[p] * (n_a - sizes_a[c]) / n_a
            else:
                outside += docs_a[p] * sizes_a[c] / n_a
        for p in range(starts_b[term], starts_b[term + 1]):
            if class_b[p] == c:
                inside += docs_b[p] * (n_b - sizes_b[c]) / n_b
            else:
                outside += docs_b[p] * sizes_b[c] / n_b
        size = (sizes_a[c] + sizes_b[c]) / (n_a + n_b)
        ratios[term] = (inside + smoothing * (1.0 - size)) / (outside + smoothing * size)
    return ratios
