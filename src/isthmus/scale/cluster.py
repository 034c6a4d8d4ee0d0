"""Group files larger than memory: cross-guided k-means with sums over blocks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.kmeans import ClusterSums, pulled_means, unit_rows
from isthmus.clustering.alignment import Aligner, SourceGroups, alignment_table, name_clusters
from isthmus.clustering.guided import CrossGuidedKMeans
from isthmus.corpus.shards import MANIFEST
from isthmus.scale._kernels import add_under, best_classes, row_scores
from isthmus.scale.methods.base import load
from isthmus.scale.methods.dense import add_tuples
from isthmus.scale.output import Output, assemble, write_json, write_part
from isthmus.scale.pieces import Job, Piece
from isthmus.scale.run import BLOCK_ROWS, SAMPLE, Run, Settings, Where, as_names, running
from isthmus.scale.views import RowBlock, View

ADDED = ("cluster", "cluster_name", "aligned_to", "strength")
_ONE = 1 << 20


@dataclass
class LargeClusters:
    """What grouping a large input gave.

    Attributes
    ----------
    names : list of str
        Name of each cluster.
    sizes : list of int
        Target documents in each.
    aligned_to : list of str or None
        Source group that each cluster is aligned with.
    strength : list of float
    n_iter : int
        Passes over the whole target.
    termination : {"stable", "max_iter"}
    files : list of dict
        ``input``, ``output`` and ``sha256`` of the files written.
    """

    names: list[str]
    sizes: list[int]
    aligned_to: list[str | None]
    strength: list[float]
    n_iter: int
    termination: str
    files: list[dict] = field(default_factory=list)


def cluster_files(
    sources: str | os.PathLike | Sequence[str | os.PathLike],
    target: str | os.PathLike | Sequence[str | os.PathLike],
    output: str | os.PathLike,
    *,
    n_clusters: int | None = None,
    guidance: float = 0.5,
    max_iter: int = 50,
    client: Any = None,
    engine: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    tls: Mapping[str, str] | None = None,
    memory_limit: str | None = None,
    text: str | Sequence[str] | None = None,
    label: str | None = None,
    target_text: str | Sequence[str] | None = None,
    block_rows: int = BLOCK_ROWS,
    sample: int = SAMPLE,
    analyzer: str = "auto",
    language: str = "auto",
    random_state: int = 0,
    resume: bool = False,
    force: bool = False,
    spreadsheet_safe: bool = False,
) -> LargeClusters:
    """Group the documents of files that need not fit in memory, guided by the groups of others.

    The number of clusters, the starts and the words by which the two domains are compared come from a sample drawn by
    content, with :class:`isthmus.CrossGuidedKMeans`. Then all target documents are assigned and all centres estimated
    again and drawn to the source's groups, pass after pass, until none changes; the source's groups are the means of
    all source documents.

    Parameters
    ----------
    sources, target, output
        As for :func:`isthmus.scale.label_files`; ``label`` names the column of the source's groups. The output gets the
        columns cluster, cluster_name, aligned_to and strength.
    n_clusters : int, optional
        Chosen on the sample if omitted.
    guidance : float, default=0.5
        As for :class:`isthmus.CrossGuidedKMeans`; 0 is plain k-means.
    max_iter : int, default=50
        Passes over the whole target at most.
    client, engine, workers, scheduler, tls, memory_limit, text, label, target_text, block_rows, sample, analyzer, \
    language, random_state, resume, force, spreadsheet_safe
        As for :func:`isthmus.scale.label_files`.

    Returns
    -------
    LargeClusters

    See Also
    --------
    isthmus.cluster : Texts that are in memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from isthmus.scale import cluster_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder)
    ...     rows = "kind staff,staff\\nfast bike,bike\\nrude staff,staff\\nred bike,bike\\n"
    ...     _ = (place / "old.csv").write_text("text,group\\n" + rows)
    ...     _ = (place / "new.csv").write_text("text\\npolite staff\\nslow bike\\nloud staff\\nnew bike\\n")
    ...     files = place / "old.csv", place / "new.csv", place / "out.csv"
    ...     result = cluster_files(*files, n_clusters=2, text="text", label="group")
    >>> sorted(result.names), result.sizes
    (['bike', 'staff'], [2, 2])
    """
    settings = Settings(
        f"cluster {n_clusters} {guidance} {max_iter}",
        *(as_names(text), label, as_names(target_text)),
        block_rows=block_rows,
        sample=sample,
        analyzer=analyzer,
        language=language,
        random_state=random_state,
        spreadsheet_safe=spreadsheet_safe,
        force_classes=True,
    )
    where = Where(client, engine, workers, scheduler, tls, memory_limit, resume, force)
    with running(settings, (sources, target), output, where) as run:
        reading = run.look()
        run.survey([reading])
        grouping = _Grouping(run, run.view(reading), n_clusters, guidance, max_iter)
        return grouping.write(force or resume)


# -- statistics of a piece ---------------------------------------------------------------------------------------------


def _units(rows: RowBlock, idf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """tf-idf values of length one, and the same in fixed point."""
    values = rows.tfidf(idf, sublinear=False)
    return values, np.rint(values * _ONE).astype(np.int64)


def group_sums(
    piece: Piece, job: Job, rows: tuple[str, int], idf: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a piece added up by group: those of the source by their label, those of the target all in one."""
    block = load(piece, job, rows)
    codes = block.codes if block.codes is not None else np.zeros(len(block), dtype=np.int32)
    sums = np.zeros((block.n_columns, n_groups), dtype=np.int64)
    add_under(block.indptr, block.indices, _units(block, idf)[1], codes, sums)
    return sums, np.bincount(codes[codes >= 0], minlength=n_groups)


def assign(
    piece: Piece, job: Job, rows: tuple[str, int], idf: np.ndarray, directions: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a target piece added up by the nearest centre; a document without a word goes to none."""
    block = load(piece, job, rows)
    labels, units = _nearest(block, idf, directions, -1)
    sums = np.zeros(directions.shape, dtype=np.int64)
    add_under(block.indptr, block.indices, units, labels, sums)
    return sums, np.bincount(labels[labels >= 0], minlength=directions.shape[1])


def _nearest(block: RowBlock, idf: np.ndarray, directions: np.ndarray, empty: int) -> tuple[np.ndarray, np.ndarray]:
    values, units = _units(block, idf)
    scores = row_scores(block.indptr, block.indices, values, directions, np.zeros(directions.shape[1]))
    labels, _ = best_classes(scores, 1.0)
    return np.where(np.diff(block.indptr) == 0, empty, labels), units


def write_clusters(
    piece: Piece,
    job: Job,
    rows: tuple[str, int],
    idf: np.ndarray,
    directions: np.ndarray,
    empty: int,
    output: Output,
    columns: dict[str, list],
) -> np.ndarray:
    """Write the rows of a piece with their clusters; how many each cluster has."""
    labels, _ = _nearest(load(piece, job, rows), idf, directions, empty)
    if not output.part(piece).is_file():
        table = {name: np.array(cells, dtype=object)[labels].tolist() for name, cells in columns.items()}
        write_part(output, piece, job.read(piece), table)
    return np.bincount(labels, minlength=directions.shape[1])


# -- the run -----------------------------------------------------------------------------------------------------------


class _Grouping:
    def __init__(self, run: Run, view: View, n_clusters: int | None, guidance: float, max_iter: int):
        self.run, self.view, self.guidance, self.max_iter = run, view, guidance, max_iter
        self.rows, self.idf = (view.name, view.n_columns), view.idf
        self.model = CrossGuidedKMeans(
            "auto" if n_clusters is None else n_clusters, guidance=guidance, random_state=run.settings.random_state
        )
        self.model.fit(*self._sample())
        self.groups, self.mean = self._means()
        self.aligner = None
        if self.model._aligner is not None and guidance > 0:
            self.aligner = Aligner(
                self.groups, self.model._aligner.similarity, self.mean, warmup=0, min_contrast=self.model.min_contrast
            )
        self._settle()

    def _sample(self) -> tuple[Any, np.ndarray, np.ndarray]:
        texts, labels = self.run.source_sample
        parts = []
        for own in (texts, self.run.target_sample):
            block = self.view.count_texts(own)
            matrix = block.matrix()
            matrix.data = _units(block, self.idf)[1] / _ONE
            parts.append(matrix)
        codes = np.searchsorted(self.run.classes, np.array(labels, dtype=object))
        n_target = len(self.run.target_sample)
        domain = np.repeat([1, -1], [len(texts), n_target])
        return sp.vstack(parts, format="csr"), np.concatenate([codes, np.full(n_target, -1)]), domain

    def _sum(self, function: Any, pieces: Sequence[Piece], *arguments: Any, phase: str) -> tuple:
        return self.run.engine.sum(
            function, pieces, self.run.job, self.rows, self.idf, *arguments, phase=phase, add=add_tuples
        )

    def _means(self) -> tuple[SourceGroups, np.ndarray]:
        """Means of the source's groups and of the target, over everything."""
        n = len(self.run.classes)
        sums, sizes = self._sum(group_sums, self.run.source, n, phase="source groups")
        total, count = self._sum(group_sums, self.run.target, 1, phase="mean of the target")
        centers = (sums / _ONE / np.maximum(sizes, 1)).T
        groups = SourceGroups(np.ascontiguousarray(centers), np.arange(n), np.ones(n, dtype=np.int64), sizes)
        return groups, total[:, 0] / _ONE / max(1, int(count[0]))

    def _settle(self) -> None:
        self.centers, before = np.asarray(self.model.cluster_centers_), None
        self.termination = "max_iter"
        self.n_iter = 0
        while self.n_iter < self.max_iter:
            self.n_iter += 1
            sums, counts = self._sum(assign, self.run.target, self._directions(), phase=f"grouping, pass {self.n_iter}")
            stats = ClusterSums(np.ascontiguousarray(sums.T / _ONE), counts, 0.0)
            pull = None if self.aligner is None else self.aligner(self.centers, self.n_iter)
            self.centers = pulled_means(stats, self.centers, pull, self.guidance if pull is not None else 0.0)
            self.means, self.counts = stats.means(self.centers), counts
            if before is not None and np.array_equal(sums, before):
                self.termination = "stable"
                break
            before = sums

    def _directions(self) -> np.ndarray:
        return np.ascontiguousarray(unit_rows(self.centers).T)

    def write(self, replace: bool) -> LargeClusters:
        """Write the target's rows with their clusters, and tell what they are."""
        k = len(self.centers)
        weights = np.zeros((k, 0)) if self.aligner is None else self.aligner.weights(self.centers)
        matches = alignment_table(weights, self.groups, self.run.classes)
        described = SimpleNamespace(cluster_means_=self.means, target_mean_=self.mean, alignment_=matches)
        columns: dict[str, list] = {
            "cluster": list(range(k)),
            "cluster_name": name_clusters(described, self.view.names()),
            "aligned_to": [match.group for match in matches],
            "strength": [round(match.strength, 4) for match in matches],
        }
        lengths = np.where(self.counts > 0, np.linalg.norm(self.means, axis=1), np.inf)
        arguments = self.rows, self.idf, self._directions(), int(lengths.argmin()), self.run.output, columns
        parts = self.run.engine.map(write_clusters, self.run.target, self.run.job, *arguments, phase="writing")
        files = assemble(self.run.output, self.run.target, ADDED, replace)
        for row in files:
            row.pop("guarded")
        result = LargeClusters(
            columns["cluster_name"],
            np.sum(parts, axis=0).tolist(),
            columns["aligned_to"],
            columns["strength"],
            self.n_iter,
            self.termination,
            files,
        )
        if not self.run.output.is_file:
            write_json(Path(self.run.output.place) / MANIFEST, {"command": "isthmus cluster", **vars(result)})
        return result
