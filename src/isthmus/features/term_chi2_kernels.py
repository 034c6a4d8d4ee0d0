"""Compiled loops of :mod:`isthmus.features.term_chi2`.

A table of pairs has four arrays: where the pairs of each term begin, and the class, occurrences and documents of each
pair.
"""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled


@compiled
def fill_buckets(indptr, indices, data, codes, order, shift, bounds, term, klass, count):
    """Write the entries above zero bucket by bucket, as term within the bucket, class and count.

    A bucket holds the entries of 2**shift neighbouring terms; ``bounds`` (zeros) gets where each bucket starts.
    ``order`` lists the labelled rows class by class, so classes ascend within a bucket.
    """
    for row in range(len(codes)):
        for k in range(indptr[row], indptr[row + 1] if codes[row] >= 0 else indptr[row]):
            bounds[(indices[k] >> shift) + 1] += data[k] > 0.0
    for bucket in range(len(bounds) - 1):
        bounds[bucket + 1] += bounds[bucket]
    # Next free entry of each bucket, and the mask of a term's number within its bucket.
    place, within = bounds[:-1].copy(), (1 << shift) - 1
    for row in order:
        for k in range(indptr[row], indptr[row + 1]):
            if data[k] > 0.0:
                bucket = indices[k] >> shift
                p = place[bucket]
                place[bucket] = p + 1
                term[p], klass[p], count[p] = indices[k] & within, codes[row], data[k]


@compiled
def pair_starts(bounds, shift, term, code, starts):
    """Write where the (term, class) pairs of each term begin: one for every class among its entries."""
    # Last class of each term in the bucket: classes ascend, so another class opens a pair.
    last = np.empty(1 << shift, dtype=np.int32)
    for bucket in range(len(bounds) - 1):
        first = bucket << shift
        last[:] = -1
        for k in range(bounds[bucket], bounds[bucket + 1]):
            starts[first + term[k] + 1] += last[term[k]] != code[k]
            last[term[k]] = code[k]
        for t in range(first, min(first + (1 << shift), len(starts) - 1)):
            starts[t + 1] += starts[t]


@compiled
def add_pairs(bounds, shift, term, code, count, starts, klass, occurrences, documents):
    """Sum the entries of every bucket into (term, class) pairs; classes ascend within a term.

    ``occurrences`` and ``documents`` start from zero. The tables of one bucket fit into the processor's cache. An entry
    opens a pair if its class is not the last one of its term; this is added to the pair's place, because a branch
    would be predicted wrongly for every third entry.
    """
    last, place = np.empty(1 << shift, dtype=np.int32), np.empty(1 << shift, dtype=np.int64)
    for bucket in range(len(bounds) - 1):
        first = bucket << shift
        size = min(1 << shift, len(starts) - 1 - first)
        last[:] = -1
        place[:size] = starts[first : first + size] - 1
        for k in range(bounds[bucket], bounds[bucket + 1]):
            t = term[k]
            p = place[t] + (last[t] != code[k])
            place[t], last[t], klass[p] = p, code[k], code[k]
            occurrences[p] += count[k]
            documents[p] += 1


@compiled
def merge_pairs(
    starts_a, class_a, joint_a, docs_a, starts_b, class_b, joint_b, docs_b, sign, starts, klass, joint, docs
):
    """Write the pairs of table a plus ``sign`` times table b, without pairs that no document has."""
    at = 0
    for term in range(len(starts) - 1):
        i, j = starts_a[term], starts_b[term]
        end_a, end_b = starts_a[term + 1], starts_b[term + 1]
        while i < end_a or j < end_b:
            # Both lists ascend by class, as in the merge step of a merge sort.
            from_a = j == end_b or (i < end_a and class_a[i] <= class_b[j])
            from_b = i == end_a or (j < end_b and class_b[j] <= class_a[i])
            klass[at], joint[at], docs[at] = class_a[i] if from_a else class_b[j], 0.0, 0
            if from_a:
                joint[at], docs[at] = joint_a[i], docs_a[i]
                i += 1
            if from_b:
                joint[at] += sign * joint_b[j]
                docs[at] += sign * docs_b[j]
                j += 1
            # After a subtraction, a pair may belong to no document.
            at += docs[at] != 0
        starts[term + 1] = at


@compiled
def summarise_terms(starts, klass, joint, class_totals, everything, largest_first):
    """Return class, χ² with that class, largest χ² and sum of χ² of each term; linear in the pairs.

    A class without the term has a χ² above 0, too: N·n_t·n_c / ((N−n_t)(N−n_c)). The sum over these classes is a
    constant for all classes minus the part of the classes with the term. ``largest_first`` sorts the classes by size.
    """
    n_terms, n_classes = len(starts) - 1, len(class_totals)
    best_class = np.full(n_terms, -1, dtype=np.int32)
    best, largest, total = np.zeros(n_terms), np.zeros(n_terms), np.zeros(n_terms)
    odds = np.zeros(n_classes)
    for c in range(n_classes):
        if 0.0 < class_totals[c] < everything:
            odds[c] = class_totals[c] / (everything - class_totals[c])
    # Part of all classes; the classes with the term are subtracted below.
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
            better = (gap > 0.0) & (value > top)  # no branch: the processor would often predict it wrongly
            top = value if better else top
            its_class = c if better else its_class
        if until - first < n_classes:
            scale = everything * n_t / (everything - n_t)
            # max: the remainder is a sum of odds, negative only by rounding
            of_all += scale * max(absent_odds, 0.0)
            # The largest class without the term has the largest χ² of all such classes.
            place = 0
            while seen_in[largest_first[place]] == term:
                place += 1
            highest = max(highest, scale * odds[largest_first[place]])
        best_class[term], best[term], largest[term], total[term] = its_class, top, highest, of_all
    return best_class, best, largest, total


@compiled
def summarise_strata(
    starts_a, class_a, joint_a, totals_a, everything_a, starts_b, class_b, joint_b, totals_b, everything_b
):
    """Return the same as :func:`summarise_terms` for two strata, each with its own margins.

    χ² of Cochran, Mantel and Haenszel: the gaps between observed and expected counts are summed over the strata, and so
    are their variances. A term gains nothing from being more frequent in one stratum.
    """
    n_terms, n_classes = len(starts_a) - 1, len(totals_a)
    best_class = np.full(n_terms, -1, dtype=np.int32)
    best, largest, total = np.zeros(n_terms), np.zeros(n_terms), np.zeros(n_terms)
    size_a, size_b = max(everything_a, 1.0), max(everything_b, 1.0)
    spread_a = totals_a * (everything_a - totals_a) / size_a**2
    spread_b = totals_b * (everything_b - totals_b) / size_b**2
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
        rate_a, rate_b = n_a / size_a, n_b / size_b
        for c in range(n_classes):
            gap = row[c] - rate_a * totals_a[c] - rate_b * totals_b[c]
            variance = n_a * (1.0 - rate_a) * spread_a[c] + n_b * (1.0 - rate_b) * spread_b[c]
            if variance > 0.0:
                value = gap * gap / variance
                total[term] += value
                largest[term] = max(largest[term], value)
                if gap > 0.0 and value > best[term]:
                    best[term], best_class[term] = value, c
    return best_class, best, largest, total


@compiled
def probability_ratios(starts, klass, documents, class_documents, chosen, smoothing):
    """Return PR(t, chosen class of t) of each term, smoothed; 1 without a chosen class."""
    ratios = np.ones(len(chosen))
    everything = class_documents.sum()
    for term in range(len(chosen)):
        c = chosen[term]
        if c >= 0:
            inside, found = 0, 0
            for p in range(starts[term], starts[term + 1]):
                found += documents[p]
                inside += documents[p] if klass[p] == c else 0
            size = class_documents[c]
            above = (inside + smoothing) / (size + 2 * smoothing)
            ratios[term] = above / ((found - inside + smoothing) / (everything - size + 2 * smoothing))
    return ratios


@compiled
def pooled_ratios(starts_a, class_a, docs_a, sizes_a, starts_b, class_b, docs_b, sizes_b, chosen, smoothing):
    """Return Mantel and Haenszel's ratio over two strata for each term's chosen class, smoothed; 1 without a class."""
    ratios = np.ones(len(chosen))
    n_a, n_b = max(sizes_a.sum(), 1.0), max(sizes_b.sum(), 1.0)
    for term in range(len(chosen)):
        c = chosen[term]
        if c >= 0:
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
