"""Group files larger than memory by cross-guided k-means, with sums over chunks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.clustering.alignment import name_clusters
from isthmus.clustering.guided import CrossGuidedKMeans, chunk_rows
from isthmus.corpus.formats import MANIFEST
from isthmus.options import ClusterOptions
from isthmus.scale.chunks import Chunk, Job
from isthmus.scale.methods import ChunkBlock, ChunkPasses, Columns
from isthmus.scale.output import Output, assemble, write_json, write_part
from isthmus.scale.run import Files, Run, running
from isthmus.scale.settings import block_request, takes_options

ADDED = ("cluster", "cluster_name", "aligned_to", "strength")


@dataclass
class LargeClusters:
    """Clusters of a large input.

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
    guidance : float
        Weight of the source, as given or chosen.
    files : list of dict
        ``input``, ``output`` and ``sha256`` of the files written.
    """

    names: list[str]
    sizes: list[int]
    aligned_to: list[str | None]
    strength: list[float]
    n_iter: int
    termination: str
    guidance: float
    files: list[dict] = field(default_factory=list)


@takes_options(ClusterOptions)
def cluster_files(
    sources: Files,
    target: Files,
    output: str | os.PathLike,
    *,
    client: Any = None,
    tls: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
    **options: Any,
) -> LargeClusters:
    r"""Group the documents of files that need not fit in memory, guided by the groups of others.

    The number of clusters, the starts and the words by which the two domains are compared come from a sample drawn by
    content, with :class:`isthmus.CrossGuidedKMeans`. Then all target documents are assigned and all centres estimated
    again and drawn to the source's groups, pass after pass, until none changes; the source's groups are the means of
    all source documents.

    Parameters
    ----------
    sources, target, output
        As for :func:`isthmus.scale.label_files`; ``label`` names the column of the source's groups. The output gets the
        columns cluster, cluster_name, aligned_to and strength.
    client, tls, spreadsheet_safe
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
    ...     rows = "kind staff,staff\nfast bike,bike\nrude staff,staff\nred bike,bike\n"
    ...     _ = (place / "old.csv").write_text("text,group\n" + rows)
    ...     _ = (place / "new.csv").write_text("text\npolite staff\nslow bike\nloud staff\nnew bike\n")
    ...     files = place / "old.csv", place / "new.csv", place / "out.csv"
    ...     result = cluster_files(*files, n_clusters=2, text="text", label="group")
    >>> sorted(result.names), result.sizes
    (['bike', 'staff'], [2, 2])
    """
    request = block_request(ClusterOptions, output, spreadsheet_safe, options)
    return cluster_in_blocks(request, sources, target, client=client, tls=tls)


def cluster_in_blocks(request: ClusterOptions, sources: Files, target: Files, **where: Any) -> LargeClusters:
    """:func:`cluster_files` of a request; ``where`` is handed to :func:`isthmus.scale.run.running`."""
    with running(Run[ClusterOptions], request, sources, target, **where) as run:
        reading = run.look()
        run.survey([reading])
        # Unlike labels, clusters have one vocabulary, that of the whole input.
        passes: Any = ChunkPasses(run, run.view(reading))
        model = CrossGuidedKMeans(
            "auto" if request.clusters is None else request.clusters,
            guidance="auto" if request.guidance is None else request.guidance,
            random_state=request.seed,
        )
        return _write(run, passes, model.fit_passes(passes, request.max_iter))


def write_clusters(
    chunk: Chunk, job: Job, columns: Columns, model: CrossGuidedKMeans, output: Output, added: dict[str, list]
) -> np.ndarray:
    """Write the rows of a chunk with their clusters, and return the number of documents of each cluster."""
    labels = model.predict(chunk_rows(ChunkBlock(chunk, job, columns).rows, model.idf_))
    # A run that was stopped may have written this part; the labels are needed for the sizes all the same.
    if not output.part(chunk).is_file():
        table = {name: np.array(cells, dtype=object)[labels].tolist() for name, cells in added.items()}
        write_part(output, chunk, job.read(chunk), table)
    return np.bincount(labels, minlength=model.n_clusters_)


def _write(run: Run, passes: ChunkPasses, model: CrossGuidedKMeans) -> LargeClusters:
    columns: dict[str, list] = {
        "cluster": list(range(len(model.cluster_centers_))),
        "cluster_name": name_clusters(model, passes.view.names()),
        "aligned_to": [match.group for match in model.alignment_],
        "strength": [round(match.strength, 4) for match in model.alignment_],
    }
    arguments = run.job, passes.columns, model, run.output, columns
    parts = run.engine.map(write_clusters, run.target, *arguments, phase="writing")
    files = assemble(run.output, run.target, ADDED, run.replace)
    # The number of guarded cells is of interest only in the summary of labels.
    for row in files:
        row.pop("guarded")
    result = LargeClusters(
        columns["cluster_name"],
        np.sum(parts, axis=0).tolist(),
        columns["aligned_to"],
        columns["strength"],
        model.n_iter_,
        model.termination_condition_,
        model.guidance_,
        files,
    )
    if not run.output.is_file:
        write_json(Path(run.output.place) / MANIFEST, {"command": "isthmus cluster", **vars(result)})
    return result
