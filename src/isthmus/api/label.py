"""Label one collection of texts from another: :func:`isthmus.label`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from sklearn.base import BaseEstimator

from isthmus._arguments import checks_arguments
from isthmus._progress import shows_progress
from isthmus._validation import check_seed
from isthmus.api.frames import takes_frames
from isthmus.api.result import LabelResult
from isthmus.api.steps import label_fields, read_job, read_target_labels
from isthmus.options import ERROR_BUDGET, NONE, LabelOptions


@shows_progress
@takes_frames
@checks_arguments
def label(
    source_texts: Sequence[str] | None,
    source_labels: Sequence | None,
    target_texts: Sequence[str],
    method: str | BaseEstimator | Callable = "auto",
    word_labels: Mapping | Literal[False, "none"] | None = None,
    random_state: int | None = 0,
    *,
    classes: Sequence[str] | Mapping | None = None,
    source_domain: Sequence[str] | None = None,
    target_labels: Sequence | None = None,
    extra_texts: Sequence[str] | None = None,
    vectors: Sequence | None = None,
    embed: Any = None,
    error_budget: float = ERROR_BUDGET,
    analyzer: str = "auto",
    min_df: int | str = "auto",
    force_classes: bool = False,
    language: str = "auto",
    parameters: Mapping[str, Any] | None = None,
) -> LabelResult:
    """Label the target texts from labelled source texts, from names of classes, or from both.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
        With ``classes``, ``source_texts`` and ``source_labels`` may be None.
    source_labels : sequence
        One label per source text; None if unknown.
    method : str, estimator, pipeline or function, default="auto"
        Name of a method (``isthmus.methods.METHODS``), or "auto": isthmus fits several methods, evaluates them without
        target labels, and lets the methods that the evidence supports vote; see :func:`isthmus.choose.choose`. Or an
        estimator that takes ``sample_domain``, or a pipeline that ends in one: it is copied and fitted, after a
        :class:`isthmus.features.TextVectorizer` if it reads matrices. Or a function of a list of texts that
        returns labels or mappings of classes to probabilities: it joins the candidates of "auto"; see
        :class:`isthmus.classify.labeller.LabellerClassifier`.
    word_labels : mapping, "none" or False, optional
        Labelled words, for the methods that take them. If omitted, "auto" uses an installed lexicon of opinion words
        (extra ``lexicons``), if the classes are verdicts (positive and negative, stars) and the lexicon agrees with
        the source labels. "none" or False disables the lexicon.
    random_state : int, default=0
        Seed of the methods, and of those ``random_state`` parameters of an estimator that are None.
    classes : sequence of str or mapping, optional
        Names of classes: ``["sport", "business: shares, market"]``, or ``{name: words or a sentence}``. They describe
        classes of the source or add classes that the target may contain. Needs method "auto" or "names". Without a
        source, only the names decide, and the accuracy is not estimated until answers are given.
    source_domain : sequence of str, optional
        Name of the source of each source text, if there are several sources. Each is compared with the others and
        with the target (``result.sources``). A source is left out, with a warning, if its labels cannot be learned or
        contradict those of the sources nearest to the target.
    target_labels : sequence, optional
        Answers of an annotator: one label per target text, None if unknown. No method sees them; the result learns
        from them afterwards, as with :meth:`isthmus.api.result.LabelResult.teach`. If none of the labels is a class,
        they are refused (code ``labels-not-classes``).
    extra_texts : sequence of str, optional
        More texts of either collection, without labels. They take part in the fit (word statistics, latent
        directions, kernels), each with the collection that it resembles, and get no label.
    vectors : (array, array), optional
        Vectors of the source and of the target texts, one row a text, from any model; a third array if
        ``extra_texts`` have vectors. Later texts then need vectors too: ``label_new(texts, vectors=...)``.
    embed : str, path, callable or False, optional
        A model that makes the vectors, as :func:`isthmus.features.embed_texts` reads it. If omitted, "auto" uses the
        packaged static vectors if they are installed (extra ``embed``). "none" or False disables vectors.
    error_budget : float, default=0.1
        Tolerated share of wrong labels among those that need no review.
    analyzer, min_df, language
        As for :class:`isthmus.features.TextVectorizer`.
    parameters : mapping, optional
        Parameters of the named method's estimator, such as ``{"n_word_clusters": 64}``, instead of the recipe's.
    force_classes : bool, default=False
        Learn labels that do not look like classes (several in one cell, dates, ids, numbers, sentences) as they are,
        instead of refusing them with code ``labels-not-classes``.
    text, label, id : str, optional
        Columns of data frames, if two frames are given instead of lists; guessed if omitted. ``text`` may name
        several columns. The id names documents in tables.

    Returns
    -------
    LabelResult

    See Also
    --------
    isthmus.cluster : Groups instead of labels.
    isthmus.diagnose : Reports whether labels transfer, before any document is labelled.
    isthmus.api.result.LabelResult : The result.

    Examples
    --------
    >>> import isthmus
    >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
    >>> result = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc")
    >>> result.labels.tolist()
    ['staff', 'product']
    >>> result.reasons(0, top=1)[-1]["term"]
    'staff'

    Without a single labelled text:

    >>> texts = ["the match and the goal", "a late goal, a fast match", "profit of the market", "shares and profit"]
    >>> isthmus.label(None, None, texts, classes=["sport: goal", "business: profit"], embed=False).labels.tolist()
    ['sport', 'sport', 'business', 'business']
    """
    check_seed(random_state)
    labeller: Callable | None = None
    if callable(method) and not isinstance(method, type) and not hasattr(method, "fit"):
        labeller = cast(Callable, method)
        method = "auto"
    request = LabelOptions.build(
        {
            "method": method if isinstance(method, str) else "",
            "random_state": random_state,
            "error_budget": error_budget,
            "analyzer": analyzer,
            "min_df": min_df,
            "force_classes": force_classes,
            "language": language,
        }
    )
    # Python and the command accept the same word for a part that is switched off.
    words = False if isinstance(word_labels, str) else word_labels
    embed = False if isinstance(embed, str) and embed == NONE else embed
    collections = source_texts, source_labels, target_texts
    job = read_job(request, *collections, source_domain, extra_texts, vectors, embed, words, classes)
    job = replace(job, parameters=parameters, labeller=labeller)
    answers = read_target_labels(target_labels, job)
    result = LabelResult(**label_fields(job, method))
    return result if answers is None else result.teach(answers, name="target_labels")
