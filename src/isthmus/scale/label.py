"""Label files larger than memory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import __version__
from isthmus._math.confidence import AccuracyEstimate, lower_confidence_in_groups, review_reasons
from isthmus._utils import one_blas_thread
from isthmus.choose.budgets import no_text_warnings, review_warnings
from isthmus.choose.candidates import YARDSTICK, Candidates, try_methods
from isthmus.choose.choice import decide
from isthmus.choose.model import LabelModel
from isthmus.choose.prevalence import share_sums, shares_of_sums, with_source
from isthmus.choose.texts import TransferTexts
from isthmus.corpus.formats import MANIFEST
from isthmus.corpus.tables import Rows
from isthmus.features.blocks import add_tuples
from isthmus.methods import METHODS, Options, get_method
from isthmus.options import ADDED, LabelOptions
from isthmus.pipeline import TransferPipeline
from isthmus.scale.chunks import Chunk, Job
from isthmus.scale.methods import ChunkPasses, FittedMethod, read_opinions
from isthmus.scale.output import Output, assemble, write_json, write_part
from isthmus.scale.reading import Reading
from isthmus.scale.run import Files, Run, running
from isthmus.scale.settings import block_request, takes_options
from isthmus.scale.store import unpack, whole_file
from isthmus.scale.trust import STEPS, SampleClassifiers, Trust, fit_stages, review_limits
from isthmus.scale.views import View

Census = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # see take_census


@dataclass
class LargeResult:
    """Result of a large run.

    Attributes
    ----------
    method : str
        The method that was fitted on all documents; the names of several that vote are joined by ``+``.
    decision : list of dict
        The methods that were compared, and the number of documents.
    classes : list of str
    labels : dict of str to int
        Number of target documents with each label, without those that have no text.
    source_documents, target_documents, without_text, needs_review, bad_rows : int
    mean_confidence : float
    expected_accuracy : AccuracyEstimate
    class_shares : list of dict
        As :meth:`isthmus.api.result.LabelResult.class_shares`.
    novel, warnings : list of dict
    terms : int
        Columns of the vocabulary.
    files : list of dict
        ``input``, ``output`` and ``sha256`` of the files written.
    notes : list of str
    """

    method: str
    decision: list[dict]
    classes: list[str]
    labels: dict[str, int]
    source_documents: int
    target_documents: int
    without_text: int
    needs_review: int
    bad_rows: int
    mean_confidence: float
    expected_accuracy: AccuracyEstimate
    class_shares: list[dict]
    novel: list[dict]
    warnings: list[dict]
    terms: int
    files: list[dict]
    guarded_cells: int = 0
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return the sizes, the method and the number of documents to review."""
        return (
            f"LargeResult({self.target_documents:,} documents, {len(self.classes)} classes, method={self.method!r}, "
            f"{self.needs_review:,} to review)"
        )


@takes_options(LabelOptions)
def label_files(
    sources: Files,
    target: Files,
    output: str | os.PathLike,
    *,
    client: Any = None,
    tls: Mapping[str, str] | None = None,
    spreadsheet_safe: bool = False,
    keep_work: bool = False,
    **options: Any,
) -> LargeResult:
    r"""Label files that need not fit in memory, on one machine or on a dask cluster.

    Files are read in blocks, and everything a method needs of them is a sum of integers over blocks: the labels are
    the same, byte for byte, whatever the size of the blocks, the engine and the number of workers.

    ``method`` names a method that runs in chunks, or "auto": methods are weighed on a sample of both sides and those
    that the evidence supports are fitted on everything. The ``sample`` is drawn by the hash of the texts; the evidence,
    the expected accuracy, new groups and the calibration of the confidence are taken from it.

    The engine "local" works on this machine, on as many processes as there are cores, or on one where the files are
    small; "dask" on a cluster, started here unless ``scheduler`` or ``client`` names one; "memory" in this process,
    with what is made of the blocks kept in memory. More rows at a time take more memory and a little less time.

    Rows that cannot be read (broken encoding, JSON or csv) stop the run, unless ``bad_rows`` names a file: then they
    are counted and written there as jsonl. ``resume`` is refused where the inputs or options are not the same;
    ``force`` also starts again where a stopped run lies.

    Parameters
    ----------
    sources, target : path, pattern or folder, or a sequence of them
        Labelled documents, and documents to be labelled: csv, tsv and jsonl files (also .gz) and parquet files.
    output : path
        A folder, which gets a file for each file of the target and ``manifest.json``; or one file (.csv, .tsv, .jsonl,
        also .gz, or .parquet). All columns of the target, then label, confidence, needs_review, novel_group and
        review_reason.
    client : distributed.Client, optional
        A cluster to run on. Its workers must see the inputs and the output under the same paths.
    tls : mapping, optional
        Fields of ``distributed.Security``: ``tls_ca_file``, ``tls_client_cert``, ``tls_client_key``.
    spreadsheet_safe : bool, default=False
        As for :func:`isthmus.corpus.write_rows`.
    keep_work : bool, default=False
        Leave the run's own folder where it is.

    Returns
    -------
    LargeResult

    See Also
    --------
    isthmus.label : Texts that are in memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from isthmus.scale import label_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = pathlib.Path(folder)
    ...     _ = (place / "old.csv").write_text("text,label\nkind staff,staff\nfast bike,bike\nrude staff,staff\n")
    ...     _ = (place / "new.csv").write_text("text\npolite staff\nslow bike\n")
    ...     result = label_files(place / "old.csv", place / "new.csv", place / "out.csv", method="nbc", text="text")
    ...     print((place / "out.csv").read_text().splitlines()[1].split(",")[:2])
    ['polite staff', 'staff']
    """
    request = block_request(LabelOptions, output, spreadsheet_safe, options)
    return label_in_blocks(request, sources, target, client=client, tls=tls, keep_work=keep_work)


def label_in_blocks(request: LabelOptions, sources: Files, target: Files, **where: Any) -> LargeResult:
    """:func:`label_files` of a request; ``where`` is handed to :func:`isthmus.scale.run.running`."""
    if request.method != "auto":
        get_method(request.method, chunks=True)
    with running(LabelRun, request, sources, target, **where) as run:
        result = run.label()
        if request.bad_rows is not None:
            run.write_bad_rows(Path(request.bad_rows))
    return result


def _in_chunks(row: dict) -> bool:
    method = METHODS.get(row["method"])
    return method is not None and method.chunks is not None


def _reading(pipeline: TransferPipeline, topic: Reading) -> Reading | None:
    """Return how the vectoriser of a pipeline reads texts; None for a method that makes features of the texts."""
    if len(pipeline.steps) == 1:
        return None
    sentiment = pipeline[0].sentiment
    return replace(topic, sentiment=sentiment, pairs=sentiment and topic.analyzer == "words")


class LabelRun(Run[LabelOptions]):
    """Label the chunks of the target."""

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.output = replace(self.output, add=self.request.add)
        self.set_aside = self.request.bad_rows is not None
        self.any_groups = self.request.force_classes
        self.decision: list[dict] = []
        self.candidates: Candidates | None = None  # tried on the sample, where methods vote

    def label(self) -> LargeResult:
        """Fit the methods, label all chunks and write the output."""
        topic = self.look()
        named = None if self.request.method == "auto" else METHODS[self.request.method]
        reading = _reading(self._pipeline(named.name if named else "nbc"), topic)
        self.survey([] if reading is None else [reading])
        weights = self._choose() if named is None else {named.name: 1.0}
        if named is not None:
            self.decision = [{"method": named.name, "chosen": True, "why": "named by the caller"}]
        # The members are fitted on all documents; the weights were found on the sample.
        model = LabelModel({name: self._fit(name, topic) for name in weights}, weights)
        trust = self._fit_stages(model)
        classifiers = self._classifiers(trust, compare=named is not None)
        arguments = self.job, model, classifiers, trust.expected.caution
        # The first of two passes counts confidences, because the limit for review depends on all documents.
        census = self.engine.sum(take_census, self.target, *arguments, phase="labelling", add=add_tuples)
        limits = self._review_limits(trust, census, alone=named is not None)
        self.novel = [] if trust.scorer is None else [group.to_dict() for group in trust.scorer.novelty.groups]
        estimated = trust.expected.estimate is not None
        options = self.output, limits, self.classes, self.novel, estimated, self.request.budget
        written = self.engine.map(write_labels, self.target, self.job, *options, phase="writing")
        files = assemble(self.output, self.target, ADDED, self.replace)
        return self._conclude("+".join(model.weights), trust, census, written, files)

    # -- methods ------------------------------------------------------------------------------------------------------

    def _choose(self) -> dict[str, float]:
        """Return the weights of the methods that the evidence of the sample supports and that run in chunks."""
        labels = np.array(self.source_sample[1], dtype=object)
        texts = TransferTexts.of(self.source_sample[0], labels, self.target_sample)
        self.candidates = try_methods(texts, **self.request.reading())
        choice = decide(self.candidates)
        chosen = {row["method"]: row["weight"] for row in choice.table if row["chosen"] and _in_chunks(row)}
        if not chosen:  # none of those that the evidence supports runs in blocks: the best supported one that does
            others = [row for row in choice.table if _in_chunks(row) and "score" in row]
            best = max(others, key=lambda row: row["score"])["method"] if others else YARDSTICK
            chosen = {best: 1.0}
        # Methods that do not run in chunks leave their weight to the others.
        total = sum(chosen.values())
        sizes = f"{len(labels):,} source and {len(self.target_sample):,} target documents of the sample"
        everything = f"fitted on all {self.n_source:,} and {self.n_target:,}"
        for row in choice.table:
            fitted = row["method"] in chosen
            own = everything if fitted else "does not run in blocks" if not _in_chunks(row) else "left out"
            self.decision.append({**row, "chosen": fitted, "why": f"on {sizes}: {row['why']}; {own}"})
        return {name: weight / total for name, weight in chosen.items()}

    def _pipeline(self, name: str) -> TransferPipeline:
        build = METHODS[name].chunks
        assert build is not None
        return build(Options(random_state=self.request.seed))

    def _fit(self, name: str, topic: Reading) -> FittedMethod:
        pipeline = self._pipeline(name)
        reading = _reading(pipeline, topic)
        # A method that reads texts has no columns.
        view = View(topic, [], np.zeros(0, dtype=np.int64), 0) if reading is None else self.view(reading)
        passes = ChunkPasses(self, view, None if reading is None else pipeline[0])
        return FittedMethod(pipeline[-1].fit_passes(passes), passes.columns)

    @one_blas_thread()
    def _fit_stages(self, model: LabelModel) -> Trust:
        blocks = {name: member.texts(self.target_sample, self.views) for name, member in model.members.items()}
        sizes = f"{len(self.source_sample[0]):,} source and {len(self.target_sample):,} target documents"
        self.notes.append(f"Expected accuracy, new groups and class shares rest on a sample of {sizes}.")
        samples = read_opinions(model, blocks)[0], self.source_sample, self.target_sample
        n_labelled = sum(self.labels.values())
        return fit_stages(model, *samples, self.candidates, self.request.reading(), n_labelled)

    def _classifiers(self, trust: Trust, *, compare: bool) -> SampleClassifiers | None:
        """Return classifiers of the sample's words; they compare labels only where an accuracy is expected."""
        compare = compare and trust.expected.estimate is not None
        if trust.scorer is None or not (compare or trust.scorer.novelty.groups):
            return None
        # Rows that a method has read serve as well, if they are of the same words.
        words = trust.scorer.words.vectorizer
        reading = Reading(words.analyzer_, tuple(words.languages_), segment=self.request.analyzer == "words")
        if reading.name not in self.views:
            names = [str(name) for name in words.feature_names_]
            self.number(self.target, View(reading, names, np.zeros(len(names), dtype=np.int64), 0))
        return SampleClassifiers.of(trust.scorer, self.views[reading.name], self.target_sample, compare=compare)

    def _review_limits(self, trust: Trust, census: Census, *, alone: bool) -> np.ndarray:
        """Return the confidences below which documents are reviewed."""
        _, passable, per_class, _ = census
        budget = self.request.budget
        limits = review_limits(passable, self.n_target, budget, trust.caution, trust.surest)
        # Undisputed and disputed documents have limits of their own.
        passed = sum(int(row[limit:].sum()) for row, limit in zip(passable, limits, strict=True))
        if trust.expected.estimate is None:  # whatever the confidence, unless anything may be wrong
            passed = passed if budget == 1 else 0
        trust.warnings += review_warnings(trust.expected, budget, all_reviewed=not passed, alone=alone)
        trust.warnings += no_text_warnings(self.n_target - int(per_class.sum()), self.n_target)
        return limits

    # -- what comes out -----------------------------------------------------------------------------------------------

    def _conclude(
        self, method: str, trust: Trust, census: Census, written: list[tuple[int, int]], files: list[dict]
    ) -> LargeResult:
        counts, per_class = census[0].sum(axis=0), census[2]
        order = np.argsort(-per_class, kind="stable")
        shares = shares_of_sums(census[3], per_class.tolist(), self.classes.tolist(), trust.expected)
        result = LargeResult(
            method=method,
            decision=self.decision,
            classes=[str(name) for name in self.classes],
            labels={str(self.classes[i]): int(per_class[i]) for i in order if per_class[i]},
            source_documents=self.n_source,
            target_documents=self.n_target,
            without_text=self.n_target - int(per_class.sum()),
            needs_review=sum(reviewed for _, reviewed in written),
            bad_rows=self.bad_rows,
            mean_confidence=round(float(counts @ np.arange(STEPS + 1)) / STEPS / max(1, counts.sum()), 4),
            expected_accuracy=trust.expected,
            class_shares=with_source(shares, self.labels.elements()),
            novel=self.novel,
            warnings=trust.warnings,
            terms=max((view.n_columns for view in self.views.values()), default=0),
            files=files,
            guarded_cells=sum(guarded for guarded, _ in written) + sum(row.pop("guarded") for row in files),
            notes=self.notes,
        )
        if not self.output.is_file:
            # The manifest is written last, so that it is there only when all output files are.
            row = {name: value for name, value in asdict(result).items() if name not in ("files", "notes", "classes")}
            content = {"command": "isthmus label", "version": __version__, **row, "files": result.files}
            write_json(Path(self.output.place) / MANIFEST, content)
        return result

    def write_bad_rows(self, path: Path) -> None:
        """Write the rows that could not be read, in the order of the files."""
        with whole_file(path) as part, open(part, "w", encoding="utf-8") as out:
            for chunk in self.chunks:
                for row in unpack(self.store.load(f"facts/{chunk.number}")["bad"]):
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")


# -- the last passes ---------------------------------------------------------------------------------------------------


def take_census(
    chunk: Chunk, job: Job, model: LabelModel, classifiers: SampleClassifiers | None, caution: float
) -> Census:
    """Label a chunk, store its labels, and count confidences (in steps of 1/10,000) and labels.

    Confidences are counted for undisputed and disputed documents, first of all, then of those that may pass without
    review. Labels, and the sums for class proportions, leave out documents without a text.
    """
    batch, no_known_terms = read_opinions(
        model, {name: member.chunk(chunk, job) for name, member in model.members.items()}
    )
    probabilities, classes = model.apply(batch), model.classes_
    labels, confidence = probabilities.argmax(axis=1).astype(np.int32), probabilities.max(axis=1)
    groups, disputed = np.full(len(labels), -1), np.zeros(len(labels), dtype=bool)
    if classifiers is not None:
        groups, disputed = classifiers.examine(chunk, job, classes[labels])
    confidence = lower_confidence_in_groups(confidence, np.where(groups >= 0, "new", ""))
    passable = ~no_known_terms & (groups < 0)
    # Integers, so that sums over chunks do not depend on their order.
    steps = np.rint(confidence * STEPS).astype(np.int32)
    arrays = {"labels": labels, "no_known_terms": no_known_terms, "disputed": disputed, "groups": groups}
    job.store.save(f"labelled/{chunk.number}", {**arrays, "steps": steps})
    # One bin for each step, first of undisputed and then of disputed documents.
    places = steps + (STEPS + 1) * disputed
    counted = [
        np.bincount(part, minlength=2 * (STEPS + 1)).reshape(2, STEPS + 1) for part in (places, places[passable])
    ]
    rows = np.setdiff1d(np.arange(len(labels)), job.store.load(f"facts/{chunk.number}")["empty"])
    sums = share_sums(probabilities[rows], labels[rows], confidence[rows], caution)
    return counted[0], counted[1], np.bincount(labels[rows], minlength=len(classes)), sums


def write_labels(
    chunk: Chunk,
    job: Job,
    output: Output,
    limits: np.ndarray,
    classes: np.ndarray,
    novel: list[dict],
    estimated: bool,
    budget: float,
) -> tuple[int, int]:
    """Write the labelled rows of a chunk, and return the numbers of guarded cells and of documents to review."""
    held = job.store.load(f"labelled/{chunk.number}")
    names = np.array([*(group["group"] for group in novel), ""], dtype=object)  # -1 is the last: no group
    low = held["steps"] < limits[held["disputed"].astype(int)]
    reasons = review_reasons(
        len(low),
        error_budget=budget,
        new_group=held["groups"] >= 0,
        no_known_words=held["no_known_terms"],
        methods_disagree=low & held["disputed"],
        not_sure_enough=low,
        not_estimated=np.full(len(low), not estimated),
    )
    review = reasons != ""
    if output.part(chunk).is_file():  # a stopped run has written it
        return 0, int(review.sum())
    rows: Rows = job.read(chunk)
    added = {
        "label": classes[held["labels"]].tolist(),
        "confidence": (held["steps"] / STEPS).tolist(),
        "needs_review": review.tolist(),
        "novel_group": names[held["groups"]].tolist(),
        "review_reason": reasons.tolist(),
    }
    return write_part(output, chunk, rows, added), int(review.sum())
