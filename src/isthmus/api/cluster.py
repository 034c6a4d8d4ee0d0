"""Group one collection of texts with the help of another: :func:`isthmus.cluster`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._arguments import checks_arguments, checks_methods
from isthmus._cards import card
from isthmus._math.content import content_order
from isthmus._progress import shows_progress
from isthmus._utils import plural
from isthmus._validation import check_seed, check_texts, read_source_labels
from isthmus.api.frames import FrameResult, takes_frames
from isthmus.clustering.alignment import Match, name_clusters
from isthmus.clustering.fitted import FittedClusters
from isthmus.clustering.guidance import GuidanceEstimate, estimate_guidance_gain
from isthmus.clustering.guided import CrossGuidedKMeans
from isthmus.exceptions import MissingExtraError
from isthmus.explain.clusters import cluster_table, match_pivots, representative_documents
from isthmus.features.term_rows import TermRows
from isthmus.features.tokens import readable, surface_forms
from isthmus.methods import make_grouping
from isthmus.options import ClusterOptions
from isthmus.saving import TRIED, check_lengths, save_result

_SAMPLE = 3_000  # target documents on which the benefit of the source is estimated
_PYTHON_ALONE = ("method", "n_init", "pivots")  # not in the request; checked by the code that uses them


@checks_methods
@dataclass(repr=False)
class GroupingResult(FrameResult):
    """Clusters of the target, the source group aligned with each, and the evidence.

    Attributes
    ----------
    labels : ndarray of int
        Cluster of each target text.
    alignment : list of Match
        Per cluster: source group (None for a new cluster), strength and source collection.
    names : list of str
        Name of each cluster: that of the aligned group, or the words that distinguish a new cluster.
    model : FittedClusters
    term_rows : TermRows
        Computes the rows of later documents, which ``model`` groups; see :meth:`predict`.
    guidance_estimate : GuidanceEstimate or None
        Whether this source should improve the clusters, estimated without labels; None if no guidance applies.
    words : list of str
        Name of each column of the model: the most common word behind each stem.

    See Also
    --------
    isthmus.cluster : Returns it.
    isthmus.load : Loads a saved one.
    """

    labels: np.ndarray
    alignment: list[Match]
    names: list[str]
    model: FittedClusters
    term_rows: TermRows
    texts: list[str] = field(repr=False)
    rows: Any = field(repr=False)
    guidance_estimate: GuidanceEstimate | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    words: list[str] = field(default_factory=list, repr=False)

    def __repr__(self) -> str:
        """Return a summary with the number of texts, clusters and new clusters."""
        new = sum(match.group is None for match in self.alignment)
        return f"GroupingResult({len(self.texts):,} texts, {len(self.names)} clusters, {new} of them new)"

    def _repr_html_(self) -> str:
        try:
            from isthmus.report import cluster_card

            return cluster_card(self)
        except MissingExtraError:  # without the extra: the same facts without charts
            pass
        sizes = np.bincount(self.labels, minlength=len(self.names))
        new = [name for name, match in zip(self.names, self.alignment, strict=True) if match.group is None]
        facts = [("new", ", ".join(new) or "none")]
        if self.guidance_estimate is not None:
            facts.append(("the source", self.guidance_estimate.reason))
        order = np.argsort(-sizes, kind="stable")
        bars = [(self.names[i], sizes[i] / max(1, len(self.texts))) for i in order]
        title = f"{plural(len(self.names), 'cluster')} of {plural(len(self.texts), 'text')}"
        return card(title, facts, bars, about="Groups")

    def clusters(self, *, top: int = 10, documents: int = 3) -> list[dict]:
        """Describe each cluster.

        Parameters
        ----------
        top : int, default=10
            Number of words and of pivots per cluster.
        documents : int, default=3
            Number of typical documents per cluster.

        Returns
        -------
        list of dict
            Number, name, size, aligned group, strength, words, ``pivots`` of the match and typical ``documents``.
        """
        table = cluster_table(self.model, self.words, top=top)
        pivots = match_pivots(self.model, self.words, top=top)
        typical = representative_documents(self.model, self.rows, top=documents)
        for row in table:
            row["pivots"] = [pivot["word"] for pivot in pivots if pivot["cluster"] == row["cluster"]]
            row["documents"] = [self.texts[found["row"]] for found in typical if found["cluster"] == row["cluster"]]
        return table

    def columns(self) -> dict[str, list]:
        """Return the result as columns.

        Returns
        -------
        dict of str to list
            ``text``, ``cluster``, ``cluster_name``, ``aligned_to`` and ``strength``.
        """
        found = self.labels.tolist()
        return {
            "text": list(self.texts),
            "cluster": found,
            "cluster_name": [self.names[cluster] for cluster in found],
            "aligned_to": [self.alignment[cluster].group for cluster in found],
            "strength": [round(self.alignment[cluster].strength, 4) for cluster in found],
        }

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return the cluster of each new target text, without refitting.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of int of shape (n_texts,)
        """
        return self.model.predict(self.term_rows(check_texts(texts, "texts", fill=True)))

    def report(self, path: str | PathLike, *, force: bool = False) -> Path:
        """Write one self-contained HTML page about the clusters.

        Parameters
        ----------
        path : path of the page
        force : bool, default=False
            Replace an existing page.

        Returns
        -------
        Path
        """
        from isthmus.report import write_cluster_report

        return write_cluster_report(self, path, force=force)

    def save(self, path: str | PathLike, *, force: bool = False) -> Path:
        """Write the model with its texts and clusters into one file for :func:`isthmus.load`.

        Parameters
        ----------
        path : path
        force : bool, default=False
            Replace an existing file.

        Returns
        -------
        Path
        """
        return save_result(self, path, "cluster", force=force)

    def check_saved(self) -> None:
        """Refuse a result from a forged file whose parts do not fit each other; group two texts.

        Raises
        ------
        ValueError
        """
        check_lengths(self, "texts labels rows")
        check_lengths(self, "names alignment")
        if not len(self.predict(["", *(text[:TRIED] for text in self.texts[:1])])):
            raise ValueError("the model cannot group")


@shows_progress
@takes_frames
@checks_arguments
def cluster(
    source_texts: Sequence[str],
    source_groups: Sequence,
    target_texts: Sequence[str],
    n_clusters: int | None = None,
    random_state: int | None = 0,
    *,
    method: str = "guided",
    guidance: float | None = None,
    n_init: int = 10,
    analyzer: str = "auto",
    min_df: int | str = "auto",
    language: str = "auto",
    source_collections: Sequence[int] | None = None,
    pivots: Mapping | None = None,
) -> GroupingResult:
    """Group the target texts, following the groups of the source texts where they fit.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    source_groups : sequence
        One group per source text; None if unknown.
    n_clusters : int, optional
        Number of target clusters; if omitted, it follows the granularity of the source groups.
    random_state : int, default=0
    method : {"guided", "guided-paper"}, default="guided"
        "guided-paper" uses the settings of the paper, for comparison.
    guidance : float in [0, 1], optional
        Weight of the source; 0 is plain k-means. If omitted, 0.5, or a weight that fits the pair clearly better,
        estimated without labels; ``result.model.guidance_`` is the weight used.
    n_init : int, default=10
        Number of starts.
    analyzer, min_df, language
        As for :class:`isthmus.features.TextVectorizer`.
    source_collections : sequence of int, optional
        Number of the collection of each source text, from 1, if the source consists of several collections.
    pivots : mapping of str to float, optional
        Weight of shared words in group comparison, from 0 (ignored) to 1.
        :meth:`isthmus.api.cluster.GroupingResult.clusters` lists the words behind each match.
    text, label, id : str, optional
        Columns of data frames, if two frames are given instead of lists; guessed if omitted. ``text`` may name
        several columns. The id names documents in tables.

    Returns
    -------
    GroupingResult

    See Also
    --------
    isthmus.label : Labels instead of groups.
    isthmus.CrossGuidedKMeans : The estimator that it fits.

    Examples
    --------
    >>> import isthmus
    >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
    >>> target = ["rude staff", "slow car", "kind staff", "great car"]
    >>> result = isthmus.cluster(source, ["staff", "product"] * 2, target, n_clusters=2)
    >>> [result.names[label] for label in result.labels]
    ['staff', 'product', 'staff', 'product']
    """
    check_seed(random_state)
    settings: dict[str, Any] = {
        "method": method,
        "n_clusters": n_clusters,
        "random_state": random_state,
        "guidance": guidance,
        "n_init": n_init,
        "analyzer": analyzer,
        "min_df": min_df,
        "language": language,
        "pivots": dict(pivots or {}),
    }
    ClusterOptions.build({name: value for name, value in settings.items() if name not in _PYTHON_ALONE})
    source_texts = check_texts(source_texts, "source_texts", fill=True)
    target_texts = check_texts(target_texts, "target_texts", fill=True)
    values, known = read_source_labels(source_groups, len(source_texts), "group")
    n_source = len(source_texts)
    groups = np.empty(n_source + len(target_texts), dtype=object)
    groups[:n_source] = [value if has else None for value, has in zip(values.tolist(), known.tolist(), strict=True)]
    collections = np.ones(n_source, dtype=int) if source_collections is None else np.asarray(source_collections)
    domain = np.concatenate([collections, np.full(len(target_texts), -1)])
    given = {**settings, "pivots": pivots}
    if guidance is None:
        del given["guidance"]  # each method has its own default
    vectorizer, model, rows = make_grouping(source_texts, target_texts, **given)
    model.fit(rows, groups, sample_domain=domain)
    guidance_estimate = _look_ahead(model, rows, groups, collections, random_state)
    forms = surface_forms(vectorizer, [*source_texts, *target_texts])
    words = [readable(str(term), forms) for term in vectorizer.get_feature_names_out()]
    return GroupingResult(
        labels=model.labels_[n_source:],
        alignment=model.alignment_,
        names=name_clusters(model, words),
        model=FittedClusters.of(model),
        term_rows=vectorizer.term_rows,
        texts=target_texts,
        rows=rows[n_source:],
        guidance_estimate=guidance_estimate,
        settings=settings,
        words=words,
    )


def _look_ahead(model: CrossGuidedKMeans, rows, groups, collections, random_state) -> GuidanceEstimate | None:
    n_source = len(collections)
    known = np.flatnonzero([group is not None for group in groups[:n_source]])
    target = rows[n_source:]
    target = target[np.diff(target.indptr) > 0]
    target = target[content_order(target)]  # starts and the sample are drawn from these rows
    if model.guidance_ == 0 or model._aligner is None or model.n_clusters_ < 2:
        return None
    if target.shape[0] > _SAMPLE:
        picked = np.random.RandomState(0).choice(target.shape[0], _SAMPLE, replace=False)
        target = target[np.sort(picked)]
    if model.n_clusters_ > target.shape[0]:
        return None
    codes = np.searchsorted(model.classes_, groups[known])
    order = content_order(rows[known], collections[known], codes)
    known, codes = known[order], codes[order]
    prepared = model._prepare_rows(rows[known], codes, collections[known], target, contexts=model.contexts)
    if prepared.aligner is None:
        return None
    return estimate_guidance_gain(
        prepared, n_clusters=model.n_clusters_, guidance=model.guidance_, n_init=3, random_state=random_state
    )
