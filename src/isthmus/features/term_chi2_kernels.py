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
            sizes[(indices[k] >> shift) + 1] += data[k] > 0.0
    for bucket in range(n_buckets):  # numba's cumsum brings a second of code for its messages
        sizes[bucket + 1] += sizes[bucket]
    return sizes


@compiled
def fill_buckets(indptr, indices, data, codes, order, shift, bounds, term, count):
    """Entries as (term within its bucket, count), bucket after bucket; within a bucket class after class.

    The tables of one bucket fit into the cache, those of all terms do not. ``bounds`` (classes and one more × buckets)
    begins with where each bucket does, and gets where each class ends in it: ``order`` sorts rows by class.
    """
    place = bounds[0].copy()
    within, code = (1 << shift) - 1, 0
    for row in order:
        while code < codes[row]:
            code += 1
            bounds[code] = place
        for k in range(indptr[row], indptr[row + 1]):
            if data[k] > 0.0:
                bucket = indices[k] >> shift
                p = place[bucket]
                place[bucket] = p + 1
                term[p] = indices[k] & within
                count[p] = data[k]
    bounds[code + 1 :] = place


@compiled
def pair_starts(term, bounds, shift, starts):
    """Where the (term, class) pairs of each term begin; an entry opens one if its class is not the term's last one."""
    last, pairs = np.empty(1 << shift, dtype=np.int32), np.empty(1 << shift, dtype=np.int32)
    n_terms = len(starts) - 1
    for bucket in range(bounds.shape[1]):
        last[:] = -1
        pairs[:] = 0
        for c in range(len(bounds) - 1):
            for k in range(bounds[c, bucket], bounds[c + 1, bucket]):
                t = term[k]
                pairs[t] += last[t] != c
                last[t] = c
        first = bucket << shift
        for t in range(first, min(first + (1 << shift), n_terms)):
            starts[t + 1] = starts[t] + pairs[t - first]


@compiled
def add_pairs(term, count, bounds, shift, starts, klass, occurrences, documents):
    """Class, occurrences and documents of every pair, the latter two from zero; classes ascend within a term.

    Whether an entry opens a pair is added to its place: a branch would be guessed wrongly for every third one.
    """
    last, place = np.empty(1 << shift, dtype=np.int32), np.empty(1 << shift, dtype=np.int64)
    n_terms = len(starts) - 1
    for bucket in range(bounds.shape[1]):
        last[:] = -1
        first = bucket << shift
        for t in range(first, min(first + (1 << shift), n_terms)):
            place[t - first] = starts[t] - 1
        for c in range(len(bounds) - 1):
            for k in range(bounds[c, bucket], bounds[c + 1, bucket]):
                t = term[k]
                p = place[t] + (last[t] != c)
                last[t], place[t] = c, p
                klass[p] = c
                occurrences[p] += count[k]
                documents[p] += 1


@compiled
def summarise_terms(starts, klass, joint, class_totals, everything, largest_first):
    """As in :mod:`isthmus.features.term_chi2_loops`; linear in the pairs that occur.

    Absent classes have a χ² above 0, too: N·n_t·n_c / ((N−n_t)(N−n_c)), summed from one constant.
    """
    n_terms = len(starts) - 1
    n_classes = len(class_totals)
    best_class = np.full(n_terms, -1, dtype=np.int32)
    best, largest, total = np.zeros(n_terms), np.zeros(n_terms), np.zeros(n_terms)
    odds = np.zeros(n_classes)
    for c in range(n_classes):
        if 0.0 < class_totals[c] < everything:
            odds[c] = class_totals[c] / (everything - class_totals[c])
    all_odds = odds.sum()
    others = everything / (everything - class_totals)
    seen_in = np.full(n_classes, -1)  # the last term that occurs in each class
    for term in range(n_terms):
        first, until = starts[term], starts[term + 1]
        n_t = 0.0
        for p in range(first, until):
            n_t += joint[p]
        if n_t <= 0.0 or n_t >= everything:
            continue
        absent_odds = all_odds
        of_term = everything / n_t / (everything - n_t)
        highest, top, of_all, its_class = 0.0, 0.0, 0.0, np.int32(-1)
        for p in range(first, until):
            c = klass[p]
            n_c = class_totals[c]
            seen_in[c] = term
            absent_odds -= odds[c]
            if n_c <= 0.0 or n_c >= everything:
                continue
            gap = joint[p] - n_t * n_c / everything  # (AD−BC)/N
            value = gap * gap * everything / n_c * others[c]
            value *= of_term
            of_all += value
            highest = max(highest, value)
            better = (gap > 0.0) & (value > top)  # no branch: it would often be guessed wrongly
            top = value if better else top
            its_class = c if better else its_class
        if until - first < n_classes:
            scale = everything * n_t / (everything - n_t)
            # max: the remainder is a sum of odds, negative only by rounding
            of_all += scale * max(absent_odds, 0.0)
            place = 0
            while seen_in[largest_first[place]] == term:
                place += 1
            highest = max(highest, scale * odds[largest_first[place]])
        best_class[term], best[term], largest[term], total[term] = its_class, top, highest, of_all
    return best_class, best, largest, total


@compiled
def probability_ratios(starts, klass, documents, class_documents, chosen, smoothing):
    n_terms = len(starts) - 1
    ratios = np.ones(n_terms)
    everything = class_documents.sum()
    for term in range(n_terms):
        c = chosen[term]
        if c < 0:
            continue
        inside, found = 0, 0
        for p in range(starts[term], starts[term + 1]):
            found += documents[p]
            inside += documents[p] if klass[p] == c else 0
        size = class_documents[c]
        above = (inside + smoothing) / (size + 2 * smoothing)
        ratios[term] = above / ((found - inside + smoothing) / (everything - size + 2 * smoothing))
    return ratios


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
