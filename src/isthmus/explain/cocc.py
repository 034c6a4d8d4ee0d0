"""Explain a co-clustering: the classes of word clusters in both domains, and the words that decided a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from isthmus._utils import as_python
from isthmus._validation import check_rows
from isthmus.choose.model import Member
from isthmus.classify.rules import CoClusterTables
from isthmus.explain.terms import contribution_rows, term_names, text_row

if TYPE_CHECKING:  # the tables of a saved result need no estimator
    from isthmus.classify.cocc.classifier import CoClusteringClassifier
    from isthmus.papers.cocc import LiteralCoClustering

    CoCluster = CoClusteringClassifier | LiteralCoClustering


def cluster_table(
    model: CoCluster | CoClusterTables,
    names: Any = None,
    *,
    classes: np.ndarray | None = None,
    top: int = 10,
    clusters: int | None = None,
) -> list[dict]:
    """Return the word clusters with their words and their leaning in source and target.

    Parameters
    ----------
    model : CoClusteringClassifier, LiteralCoClustering or CoClusterTables
        Fitted.
    names : sequence of str, optional
        Words, in the order of the columns; column numbers if omitted.
    classes : ndarray, optional
        The classes; only tables without an estimator need them.
    top : int
        Words per cluster, those with the largest share of the target first, then of the source.
    clusters : int, optional
        Only so many clusters, those that lean most (largest information between cluster and class in either domain).

    Returns
    -------
    list of dict
        ``cluster``, ``size`` (words), ``class`` (towards which it leans in the source), ``source`` and ``target``
        (class → p(class | cluster) in each domain), ``agree`` (both lean the same way), ``share`` (of the target's
        text), ``strength`` and ``words``.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus import CoClusteringClassifier
    >>> from isthmus.explain.cocc import cluster_table
    >>> X = np.array([[3, 0, 1, 0], [0, 3, 0, 1], [1, 0, 3, 0], [0, 1, 0, 3]])
    >>> model = CoClusteringClassifier(random_state=0).fit(X, ["car", "law", None, None])
    >>> [(row["class"], row["words"]) for row in cluster_table(model, ["engine", "court", "wheel", "judge"])]
    [('car', ['wheel', 'engine']), ('law', ['judge', 'court'])]
    """
    labels = [as_python(label) for label in (getattr(model, "classes_", ()) if classes is None else classes)]
    names = _names(model, names)
    target_table = _by_class(model, len(labels))
    target, source = _leaning(target_table), _leaning(model.source_table_)
    strength = _strength(target_table) + model.trade_off_ * _strength(model.source_table_)
    # Words of the target first; the source only breaks ties.
    weight = model.target_words_.sum(axis=1) + 1e-9 * model.source_words_.sum(axis=1)
    sizes = np.bincount(model.word_clusters_, minlength=model.n_word_clusters_)
    rows = []
    for cluster in np.flatnonzero(sizes):
        members = np.flatnonzero(model.word_clusters_ == cluster)
        members = members[np.argsort(-weight[members], kind="stable")][:top]
        rows.append(
            {
                "cluster": int(cluster),
                "size": int(sizes[cluster]),
                "class": labels[int(source[cluster].argmax())],
                "source": dict(zip(labels, source[cluster].tolist(), strict=True)),
                "target": dict(zip(labels, target[cluster].tolist(), strict=True)),
                "agree": bool(source[cluster].argmax() == target[cluster].argmax()),
                "share": float(model.target_table_[cluster].sum() / model.target_table_.sum()),
                "strength": float(strength[cluster]),
                "words": names[members].tolist(),
            }
        )
    if clusters is not None:
        rows = sorted(rows, key=lambda row: -row["strength"])[:clusters]
    # Classes in their own order, strong clusters first.
    order = {label: place for place, label in enumerate(labels)}
    return sorted(rows, key=lambda row: (order[row["class"]], -row["strength"], row["cluster"]))


def document_contributions(model: CoCluster, row: Any) -> np.ndarray:
    """Return the centred contribution of each word of a document to each column of scores (words × columns).

    They add up to the document's centred scores: log p(ŵ|d̂) summed over words, or, after a finish, the cosine with
    each class's centroid. Columns are the classes, unless the printed map gave several clusters to one
    (``cluster_classes_``).

    Parameters
    ----------
    model : CoClusteringClassifier or LiteralCoClustering
        Fitted.
    row : sparse matrix of shape (1, n_words)

    Returns
    -------
    ndarray of shape (n_document_words, n_columns)
    """
    return model.prediction_rule().word_contributions(sp.csr_matrix(check_rows(model, row, kind="counts")))


def document_table(
    model: CoCluster, X, names: Any = None, *, document: int | str = 0, top: int | None = None
) -> list[dict]:
    """Return the words, with their word clusters, that decided the first row of ``X``.

    Rows have ``document``, ``class``, ``word``, ``contribution`` (positive supports the class), ``cluster`` and
    ``target_only`` (the source never used the word: its class came through its cluster), largest first.

    Parameters
    ----------
    model : CoClusteringClassifier or LiteralCoClustering
        Fitted.
    X : sparse matrix
    names : sequence of str, optional
        Words, in the order of the columns.
    document : int or str
        Name of the document in the table.
    top : int, optional
        Number of rows; None for all.

    Returns
    -------
    list of dict
    """
    row = sp.csr_matrix(X)[:1]
    names = _names(model, names)
    target_only = _target_only(model)
    parts = document_contributions(model, row)
    columns = _deciding_columns(parts, _cluster_classes(model, len(model.classes_)))
    rows = [
        {
            "document": document,
            "class": as_python(model.classes_[code]),
            "word": str(names[word]),
            "contribution": float(value),
            "cluster": int(model.word_clusters_[word]),
            "target_only": bool(target_only[word]),
        }
        for word, values in zip(row.indices, parts[:, list(columns.values())], strict=True)
        for code, value in zip(columns, values, strict=True)
    ]
    rows.sort(key=lambda row: (-abs(row["contribution"]), row["word"], str(row["class"])))
    return rows if top is None else rows[:top]


def _deciding_columns(parts: np.ndarray, classes: np.ndarray) -> dict[int, int]:
    """Return the column of scores that decides about each class.

    The columns are centroids of the classes, or document clusters of which the printed map may give one class two: then
    the best of them decides about the document.
    """
    columns: dict[int, int] = {}
    for column in np.argsort(-parts.sum(axis=0), kind="stable").tolist():
        columns.setdefault(int(classes[column]), column)
    return dict(sorted(columns.items()))


def document_terms(member: Member, text: str) -> list[dict]:
    """Return rows of class, term and contribution for a text.

    Parameters
    ----------
    member : Member
        With a ``CoClusterRule`` or ``ClusterMapRule``.
    text : str

    Returns
    -------
    list of dict
    """
    row, names = text_row(member, text), term_names(member)
    parts = member.rule.word_contributions(row)
    columns = _deciding_columns(parts, member.rule.tables.cluster_classes_)
    classes = member.classes_[list(columns)]
    return contribution_rows(classes, names[row.indices], parts[:, list(columns.values())])


def bridge_words(model: CoCluster, names: Any, *, top: int = 20) -> list[dict]:
    """Return target words that the source lacks, and the class of each by its word cluster.

    Rows have ``word``, ``cluster``, ``class``, ``share`` (of the target's text) and ``companions``: words of the
    same cluster that the source uses for that class.

    Parameters
    ----------
    model : CoClusteringClassifier or LiteralCoClustering
        Fitted.
    names : sequence of str
        Words, in the order of the columns.
    top : int
        Number of words.

    Returns
    -------
    list of dict
    """
    names = _names(model, names)
    # Words that the source never used need a cluster to get a class.
    unknown = _target_only(model)
    share = model.target_words_.sum(axis=1)
    leaning = _leaning(_by_class(model, len(model.classes_)))
    rows = []
    for word in np.flatnonzero(unknown)[np.argsort(-share[unknown], kind="stable")][:top]:
        cluster = model.word_clusters_[word]
        code = int(leaning[cluster].argmax())
        known = np.flatnonzero((model.word_clusters_ == cluster) & ~unknown)
        # Five words show what the cluster is about.
        companions = known[np.argsort(-model.source_words_[known, code], kind="stable")][:5]
        rows.append(
            {
                "word": str(names[word]),
                "cluster": int(cluster),
                "class": as_python(model.classes_[code]),
                "share": float(share[word]),
                "companions": names[companions].tolist(),
            }
        )
    return rows


def _names(model: CoCluster | CoClusterTables, names: Any) -> np.ndarray:
    return np.arange(len(model.word_clusters_)).astype(str) if names is None else np.asarray(names, dtype=str)


def _target_only(model: CoCluster) -> np.ndarray:
    """Return which words the source never used: these have the smallest smoothed share in every class."""
    return np.all(model.source_words_ <= model.source_words_.min() * (1 + 1e-9), axis=1)


def _by_class(model: CoCluster | CoClusterTables, n_classes: int) -> np.ndarray:
    """Return the target's table with the document clusters of a class added up."""
    table = np.zeros((len(model.target_table_), n_classes))
    np.add.at(table.T, _cluster_classes(model, n_classes), model.target_table_.T)
    return table


def _cluster_classes(model: CoCluster | CoClusterTables, n_classes: int) -> np.ndarray:
    """Return the class of each document cluster; the printed map of the paper may give one class to two clusters."""
    return getattr(model, "cluster_classes_", np.arange(n_classes))


def _leaning(table: np.ndarray) -> np.ndarray:
    """Return p(class | cluster) with all classes equally frequent, so that a large class does not dominate."""
    rates = table / np.maximum(table.sum(axis=0), 1e-300)
    total = rates.sum(axis=1, keepdims=True)
    return np.where(total > 0, rates / np.where(total > 0, total, 1.0), 1.0 / table.shape[1])


def _strength(table: np.ndarray) -> np.ndarray:
    """Return the contribution of each cluster to the mutual information of clusters and classes."""
    joint = table / table.sum()
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    ratio = np.where(joint > 0, joint / np.where(outer > 0, outer, 1.0), 1.0)
    return (joint * np.log(ratio)).sum(axis=1)
