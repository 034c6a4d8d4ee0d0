"""Draw documents for an annotator to label: their number, the selection, and the table that the annotator fills in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, inf, sqrt
from typing import Any

import numpy as np

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.content import content_order
from isthmus._math.samples import effective_size, two_sided_z
from isthmus.exceptions import DataError, UsageError


def sample_size(
    margin: float,
    *,
    accuracy: float | AccuracyEstimate | None = None,
    population: int | None = None,
    confidence: float = 0.95,
) -> int:
    """Return the number of documents to label at random, so that the accuracy is known to about ± ``margin``.

    The formula is the normal approximation with finite population correction. An accuracy nearer to 1 (or 0) than the
    margin counts as 1 − margin (margin), because the approximation is too optimistic near the limits.

    Parameters
    ----------
    margin : float
        Half the width of the interval, for example 0.05.
    accuracy : float or AccuracyEstimate, optional
        Expected accuracy. For an estimate, the value of its interval nearest to one half is used, which requires most
        documents. If omitted, one half, the worst case.
    population : int, optional
        Number of all documents; unlimited if omitted.
    confidence : float, default=0.95
        Share of such intervals that contain the true accuracy.

    Returns
    -------
    int

    Raises
    ------
    UsageError
        If the margin is not between 0 and 0.5.

    See Also
    --------
    isthmus.choose.sample_margin : The reverse.
    isthmus.choose.draw_sample : Draws the rows.

    Examples
    --------
    >>> from isthmus.choose import sample_size
    >>> sample_size(0.05), sample_size(0.05, population=2000), sample_size(0.05, accuracy=0.85, population=2000)
    (385, 323, 179)
    """
    z = two_sided_z(confidence)
    _check_population(population)
    if not 0 < margin < 0.5:
        raise UsageError(
            f"margin is {margin}; give a number between 0 and 0.5, for example 0.05 for 5 points.", code="bad-parameter"
        )
    share = min(max(_nearest_half(accuracy), margin), 1 - margin)
    endless = z * z * share * (1 - share) / margin**2
    n = endless if population is None else endless * population / (endless + population - 1)
    # Rounding errors of 1e-12 above a whole number must not add a document.
    return max(1, ceil(n - 1e-9))


def sample_margin(
    n: int,
    *,
    accuracy: float | AccuracyEstimate | None = None,
    population: int | None = None,
    confidence: float = 0.95,
) -> float:
    """Return how exactly ``n`` documents labelled at random measure the accuracy: the reverse of :func:`sample_size`.

    Parameters
    ----------
    n : int
        Documents to label.
    accuracy, population, confidence
        See :func:`sample_size`.

    Returns
    -------
    float
        Half the width of the interval.

    See Also
    --------
    isthmus.choose.sample_size : The reverse.

    Examples
    --------
    >>> from isthmus.choose import sample_margin
    >>> round(sample_margin(100), 3), round(sample_margin(100, accuracy=0.9, population=300), 3)
    (0.098, 0.048)
    """
    z = two_sided_z(confidence)
    _check_population(population)
    _check_size(n, population)
    share, size = _nearest_half(accuracy), effective_size(n, population)
    if size == inf:
        return 0.0
    # The second term is the margin at which 1 − margin is the share itself; see sample_size.
    return min(1.0, max(z * sqrt(share * (1 - share) / size), z * z / (size + z * z)))


def draw_sample(
    n_documents: int,
    n: int,
    random_state: int | np.random.RandomState | None = 0,
    *,
    texts: Sequence[str] | None = None,
) -> np.ndarray:
    """Draw documents at random without replacement.

    A larger draw with the same seed begins with the smaller one. Every beginning of the draw is a random sample, so an
    annotator who keeps the order may stop at any time.

    Parameters
    ----------
    n_documents : int
        Number of all documents.
    n : int
        Documents to draw.
    random_state : int, RandomState or None
    texts : sequence of str, optional
        One text per document. With it, the same documents are drawn whatever their order.

    Returns
    -------
    ndarray of int, shape (n,)
        Row numbers in the order of the draw.

    See Also
    --------
    isthmus.choose.sample_table : The rows as a table for a person.
    isthmus.choose.sample_size : How many to draw.

    Examples
    --------
    >>> from isthmus.choose import draw_sample
    >>> draw_sample(1000, 4).tolist() == draw_sample(1000, 50)[:4].tolist()
    True
    """
    from isthmus._validation import check_seed  # imports scikit-learn, which sentences about a result do not need

    _check_population(n_documents)
    _check_size(n, n_documents)
    drawn = check_seed(random_state).permutation(n_documents)[:n]
    return drawn if texts is None else content_order(texts)[drawn]


def _nearest_half(accuracy: float | AccuracyEstimate | None) -> float:
    if accuracy is None:
        return 0.5
    if isinstance(accuracy, AccuracyEstimate):
        return min(max(0.5, accuracy.low), accuracy.high)
    if not 0 <= accuracy <= 1:
        raise UsageError(f"accuracy is {accuracy}; give a share between 0 and 1.", code="bad-parameter")
    return float(accuracy)


def _check_population(population: int | None) -> None:
    if population is not None and population < 1:
        raise DataError(f"There are {population} documents; at least one is needed.", code="no-rows")


def _check_size(n: int, population: int | None) -> None:
    if n < 1 or (population is not None and n > population):
        most = "at least 1" if population is None else f"between 1 and {population:,}, the number of documents"
        raise UsageError(f"A sample of {n:,} cannot be drawn; give a number {most}.", code="bad-parameter")


def sample_table(
    rows: Any,
    texts: Sequence[str],
    ids: Sequence[str] | None = None,
    *,
    among: int | None = None,
    known: Mapping[int, Any] | None = None,
) -> dict[str, list]:
    """Return the columns that an annotator fills in: ``document`` (numbered from 1), ``id``, ``text``, ``true_label``.

    The labels of the model are left out, so that they do not influence the annotator. The column ``drawn`` records that
    the documents were drawn at random, so that their answers can be counted later.

    Parameters
    ----------
    rows : array-like of int
        Documents, numbered from 0.
    texts : sequence of str
        Texts of all documents.
    ids : sequence of str, optional
        Identifiers of all documents; the numbers if omitted.
    among : int, optional
        Number of most confident documents from which the rows were drawn; recorded in a column of that name.
    known : mapping of int to object, optional
        True labels, by row, that need no reading.

    Returns
    -------
    dict of str to list

    Examples
    --------
    >>> from isthmus.choose import sample_table
    >>> sample_table([1], ["kind staff", "high price"])
    {'document': [2], 'id': ['2'], 'text': ['high price'], 'true_label': [None], 'drawn': ['random']}
    """
    rows = np.asarray(rows).tolist()
    table: dict[str, list] = {
        "document": [row + 1 for row in rows],
        "id": [str(row + 1) if ids is None else str(ids[row]) for row in rows],
        "text": [texts[row] for row in rows],
        "true_label": [(known or {}).get(row) for row in rows],
        "drawn": ["random" if among is None else "asked"] * len(rows),
    }
    return table if among is None else table | {"among": [among] * len(rows)}
