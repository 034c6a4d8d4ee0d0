"""Label files larger than memory: the passes of a run in their order."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from isthmus import __version__
from isthmus._math.confidence import AccuracyEstimate, lower_confidence_in_groups, review_reasons
from isthmus._utils import warn
from isthmus._validation import check_seed
from isthmus.choose.budgets import no_text_warnings, review_warnings, too_few_pass
from isthmus.choose.candidates import YARDSTICK, Candidates, try_methods
from isthmus.choose.choice import decide
from isthmus.choose.prevalence import share_sums, shares_of_sums, with_source
from isthmus.choose.texts import TransferTexts
from isthmus.corpus.guess import check_label_kind
from isthmus.corpus.limits import given_limit
from isthmus.corpus.shards import MANIFEST, Block, choose_columns, cut_shard, find_shards, read_block
from isthmus.corpus.tables import Rows
from isthmus.exceptions import DataError, UsageError
from isthmus.features.blocks import add_tuples
from isthmus.request import ADDED, BLOCK_ROWS, ENGINES, ERROR_BUDGET, SAMPLE, LabelRequest
from isthmus.scale.engine import DaskEngine, LocalEngine, connect, local_cluster
from isthmus.scale.methods import FittedMethod, Model, PiecePasses, VotingModel
from isthmus.scale.output import Output, assemble, names_file, open_work, write_json, write_part
from isthmus.scale.pieces import Facts, Job, Piece, by_shard, sample_limit, survey, trim_sample
from isthmus.scale.processes import ProcessEngine
from isthmus.scale.reading import Reading, choose_reading
from isthmus.scale.registry import METHODS, LargeMethod, get_method
from isthmus.scale.store import FolderStore, MemoryStore, Store, unpack, whole_file
from isthmus.scale.trust import (
    STEPS,
    PlainLabels,
    Sample,
    SampleLearner,
    Trust,
    group_learner,
    plain_labels,
    review_limits,
    sample_view,
    weigh_method,
    weigh_vote,
)
from isthmus.scale.views import View, build_view, make_rows

_HEAD_SHARDS, _HEAD_ROWS = 10, 300  # what the language is told from
PARALLEL_BYTES = 32 * 2**20  # less is done by one process before another has started
Census = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # see take_census


@dataclass(frozen=True)
class Settings:
    """What a run was asked for, as far as its outcome depends on it."""

    method: str = "auto"
    text: tuple[str, ...] | None = None
    label: str | None = None
    target_text: tuple[str, ...] | None = None
    block_rows: int = BLOCK_ROWS
    sample: int = SAMPLE
    error_budget: float = ERROR_BUDGET
    analyzer: str = "auto"
    language: str = "auto"
    random_state: int = 0
    set_aside: bool = False
    spreadsheet_safe: bool = False
    force_classes: bool = False
    add: tuple[str, ...] = ()

    def as_in_memory(self) -> dict[str, Any]:
        """Options of the fits in memory, on samples."""
        return {"analyzer": self.analyzer, "language": self.language, "random_state": self.random_state}


@dataclass
class LargeResult:
    """What a large run did.

    Attributes
    ----------
    method : str
        The method that was fitted on everything; several joined by ``+`` where they vote.
    decision : list of dict
        What was weighed, and on how many documents.
    classes : list of str
    labels : dict of str to int
        How many target documents got each label, those without a text left out.
    source_documents, target_documents, without_text, needs_review, bad_rows : int
    mean_confidence : float
    expected_accuracy : AccuracyEstimate
    class_shares : list of dict
        As :meth:`isthmus.api.label.LabelResult.class_shares`.
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
        return (
            f"LargeResult({self.target_documents:,} documents, {len(self.classes)} classes, method={self.method!r}, "
            f"{self.needs_review:,} to review)"
        )


def label_files(
    sources: str | os.PathLike | Sequence[str | os.PathLike],
    target: str | os.PathLike | Sequence[str | os.PathLike],
    output: str | os.PathLike,
    *,
    method: str = "auto",
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
    error_budget: float = 0.1,
    analyzer: str = "auto",
    language: str = "auto",
    random_state: int = 0,
    bad_rows: str | os.PathLike | None = None,
    resume: bool = False,
    force: bool = False,
    spreadsheet_safe: bool = False,
    force_classes: bool = False,
    add: Sequence[str] = (),
    keep_work: bool = False,
) -> LargeResult:
    """Label files that need not fit in memory, on one machine or on a dask cluster.

    Files are read in blocks, and everything a method needs of them is a sum of integers over blocks: the labels are
    the same, byte for byte, whatever the size of the blocks, the engine and the number of workers.

    Parameters
    ----------
    sources, target : path, pattern or folder, or a sequence of them
        Labelled documents, and documents to be labelled: csv, tsv and jsonl files (also .gz) and parquet files.
    output : path
        A folder, which gets a file for each file of the target and ``manifest.json``; or one file (.csv, .tsv, .jsonl,
        also .gz, or .parquet). All columns of the target, then label, confidence, needs_review, novel_group and
        review_reason.
    method : str, default="auto"
        One of ``isthmus.scale.METHODS``, or "auto": methods are weighed on a sample of both sides and those that the
        evidence supports are fitted on everything.
    client : distributed.Client, optional
        A cluster to run on. Its workers must see the inputs and the output under the same paths.
    engine : {"local", "dask", "memory"}, optional
        "local": on this machine. "dask": a cluster, started here unless ``scheduler`` or ``client`` names one.
        "memory": in this process, with what is made of the blocks kept in memory.
    workers : int, optional
        Processes that work on blocks; if omitted, the number of cores, or one where the files are small.
    scheduler : str, optional
        Address of a running dask scheduler.
    tls : mapping, optional
        Fields of ``distributed.Security``: ``tls_ca_file``, ``tls_client_cert``, ``tls_client_key``.
    memory_limit : str, optional
        Memory a worker may take, such as "2GB"; only for a cluster that is started here.
    text, label, target_text : str, optional
        Columns, guessed if omitted.
    block_rows : int, default=50_000
        Rows read at once. More take more memory and a little less time.
    sample : int, default=3_000
        Documents of each side, drawn by the hash of their texts, from which the evidence, the expected accuracy, new
        groups and the calibration of the confidence are taken.
    error_budget, analyzer, language, random_state, force_classes
        As for :func:`isthmus.label`.
    bad_rows : path, optional
        Rows that cannot be read (broken encoding, JSON or csv) are counted and written here as jsonl. If omitted, the
        first one stops the run.
    resume : bool, default=False
        Continue a run that was stopped; refused where the inputs or options are not the same.
    force : bool, default=False
        Replace an output that exists, and start again where a stopped run lies.
    spreadsheet_safe : bool, default=False
        As for :func:`isthmus.corpus.write_rows`.
    add : sequence of str, optional
        Which of the columns label, confidence, needs_review, novel_group and review_reason are added; all if omitted.
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
    ...     _ = (place / "old.csv").write_text("text,label\\nkind staff,staff\\nfast bike,bike\\nrude staff,staff\\n")
    ...     _ = (place / "new.csv").write_text("text\\npolite staff\\nslow bike\\n")
    ...     result = label_files(place / "old.csv", place / "new.csv", place / "out.csv", method="nbc", text="text")
    ...     print((place / "out.csv").read_text().splitlines()[1].split(",")[:2])
    ['polite staff', 'staff']
    """
    given = {**locals(), "set_aside": bad_rows is not None}
    if method != "auto":
        get_method(method)
    with running(given) as run:
        result = run.label(force or resume)
        if bad_rows is not None:
            run.write_bad_rows(Path(bad_rows))
    return result


@contextmanager
def running(given: Mapping[str, Any]) -> Iterator[Run]:
    """A run with its folder and its engine, from what was given to :func:`label_files`; the folder goes when all went
    well."""
    names = {name: as_names(given[name]) for name in ("text", "target_text", "add") if name in given}
    asked = {**given, **names}
    settings = Settings(**{part.name: asked[part.name] for part in fields(Settings) if part.name in asked})
    _check(settings, given["engine"])
    place = os.fspath(given["output"])
    paths = {"source": find_shards(given["sources"]), "target": find_shards(given["target"])}
    _check_places(paths, place)
    work = open_work(place, _plan(settings, paths), resume=given["resume"], force=given["force"])
    engine = _start_engine(given, work, paths)
    try:
        store: Store = MemoryStore()
        if given["engine"] != "memory":
            store = FolderStore(work / "store", resumed=given["resume"])
        yield Run(engine, settings, Output(place, str(work), settings.spreadsheet_safe, settings.add), store, paths)
    finally:
        engine.close()
    if not given.get("keep_work"):
        shutil.rmtree(work, ignore_errors=True)


def as_names(given: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if given is None else (given,) if isinstance(given, str) else tuple(given)


def _check(settings: Settings, engine: str | None) -> None:
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"engine={engine!r}; use one of {', '.join(ENGINES)}.")
    check_seed(settings.random_state)
    LabelRequest.options()["add"].check(settings.add, "add")
    for name, least in (("block_rows", 1), ("sample", 50)):
        if getattr(settings, name) < least:
            raise UsageError(f"{name}={getattr(settings, name)}; give at least {least}.")
    if not 0 <= settings.error_budget <= 1:
        raise UsageError(f"error_budget={settings.error_budget!r}; give a share between 0 and 1.")
    if settings.analyzer not in ("auto", "words", "bigrams", "trigrams"):
        raise UsageError(
            f"analyzer={settings.analyzer!r}; large inputs are read as words, bigrams or trigrams, or auto."
        )


def _check_places(paths: Mapping[str, list[str]], output: str) -> None:
    for path in (*paths["source"], *paths["target"]):
        if os.path.exists(output) and os.path.exists(path) and os.path.samefile(output, path):
            raise UsageError(f"{output!r} is an input of this run; give another name.", code="output-unwritable")
        if not names_file(output) and Path(output).resolve() == Path(path).resolve().parent:
            raise UsageError(f"The folder {output!r} holds inputs of this run; name another.", code="output-unwritable")
    if not names_file(output) and Path(output).suffix and not Path(output).is_dir():
        raise UsageError(
            f"{output!r} names neither a folder nor a file that can be written in blocks; end it in .csv, .tsv, .jsonl "
            "(also .gz) or .parquet, or name a folder.",
            code="unknown-format",
        )


def _plan(settings: Settings, paths: Mapping[str, list[str]]) -> dict[str, Any]:
    """What makes a run the same run: options, version, and names, sizes and times of the inputs."""
    files: dict[str, list] = {}
    for side, names in paths.items():
        for path in names:
            try:
                stat = os.stat(path)
            except OSError:
                raise DataError(f"There is no file {path!r}; check the name.", code="missing-file") from None
            files.setdefault(side, []).append([os.path.abspath(path), stat.st_size, stat.st_mtime_ns])
    return json.loads(json.dumps({"version": __version__, "settings": asdict(settings), **files}))


def _start_engine(given: Mapping[str, Any], work: Path, paths: Mapping[str, list[str]]) -> LocalEngine:
    """Where a run takes place, by the options of :func:`label_files`."""
    workers = given["workers"]
    if given["client"] is not None:
        return DaskEngine(given["client"])
    if given["scheduler"] is not None:
        return connect(given["scheduler"], dict(given["tls"] or {}))
    if given["engine"] == "dask":
        return local_cluster(work, workers or _cores(), given["memory_limit"])
    if given["engine"] == "memory":
        if workers not in (None, 1):
            raise UsageError(f"engine='memory' is one process; leave workers={workers} or the engine out.")
        return LocalEngine()
    large = sum(os.path.getsize(path) for path in (*paths["source"], *paths["target"])) >= PARALLEL_BYTES
    workers = workers or (_cores() if large else 1)
    return ProcessEngine(workers) if workers > 1 else LocalEngine()


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class _File:
    """A file to be cut, before it has pieces; its bytes stand for rows in the progress."""

    path: str
    rows: int
    block_rows: int
    unpacked: str
    limit: int | None


def _cut(file: _File) -> list[Block]:
    return cut_shard(file.path, file.block_rows, file.unpacked, file.limit)


class Run:
    """One run, step by step."""

    def __init__(self, engine: Any, settings: Settings, output: Output, store: Store, paths: Mapping[str, list[str]]):
        self.engine, self.settings, self.output, self.store, self.paths = engine, settings, output, store, paths
        self.views: dict[str, View] = {}
        self.decision: list[dict] = []
        self.notes: list[str] = []
        self.candidates: Candidates | None = None  # tried on the sample, where methods vote

    def label(self, replace: bool) -> LargeResult:
        """Labels for the target, written."""
        topic = self.look()
        named = None if self.settings.method == "auto" else get_method(self.settings.method)
        self.survey([] if named and named.texts else [(named or get_method("nbc")).reading(topic)])
        weights = self._choose() if named is None else {named.name: 1.0}
        if named is not None:
            self.decision = [{"method": named.name, "chosen": True, "why": "named by the caller"}]
        models = {name: self._fit(get_method(name), topic) for name in weights}
        model = next(iter(models.values())) if named else VotingModel(models, weights)
        trust = self._weigh(model)
        new = group_learner(trust, self._sample_view(trust)) if trust.novel else None
        by = model, trust, new, self._plain_labels(trust) if named else None
        census = self.engine.sum(
            take_census, self.target, self.job, *by, len(self.classes), phase="labelling", add=add_tuples
        )
        limits = self._review_limits(trust, census, alone=named is not None)
        arguments = self.output, limits, self.classes, trust, self.settings.error_budget
        written = self.engine.map(write_labels, self.target, self.job, *arguments, phase="writing")
        files = assemble(self.output, self.target, ADDED, replace)
        return self._conclude("+".join(models), trust, census, written, files)

    # -- what there is ------------------------------------------------------------------------------------------------

    def look(self) -> Reading:
        """Cut the files, find their columns, and tell how their texts are best read."""
        self._cut(self.paths)
        self._choose_columns()
        return choose_reading(self._heads(), analyzer=self.settings.analyzer, language=self.settings.language)

    def _cut(self, paths: Mapping[str, list[str]]) -> None:
        folder = Path(self.output.work) / "unpacked"
        folder.mkdir(exist_ok=True)
        pieces: dict[str, list[Piece]] = {}
        number = 0
        for side in ("source", "target"):
            files = [
                _File(path, os.path.getsize(path), self.settings.block_rows, str(folder / f"{side}-{i}"), given_limit())
                for i, path in enumerate(paths[side])
            ]
            blocks = [
                block for found in self.engine.map(_cut, files, phase=f"looking at the {side}") for block in found
            ]
            if not blocks:
                raise DataError(f"The {side} holds no rows; check its files.", code="empty-file")
            pieces[side] = [Piece(block, side, number + i) for i, block in enumerate(blocks)]
            number += len(blocks)
        self.source, self.target = pieces["source"], pieces["target"]

    def _choose_columns(self) -> None:
        asked = self.settings
        columns = {
            "source": choose_columns(
                [piece.block for piece in self.source], text=asked.text, label=asked.label, want_labels=True
            ),
            "target": choose_columns(
                [piece.block for piece in self.target],
                text=asked.target_text or asked.text,
                label=None,
                want_labels=False,
            ),
        }
        self.notes += [*columns["source"].notes, *columns["target"].notes]
        self.job = Job(self.store, columns, asked.set_aside)

    def _heads(self) -> list[str]:
        """The first texts of some files of both sides: the same whatever the size of blocks."""
        texts: list[str] = []
        for pieces in (self.source, self.target):
            shards = list(by_shard(pieces).values())
            for own in shards[:: max(1, len(shards) // _HEAD_SHARDS)]:
                first: list[str] = []
                for piece in own:
                    first += read_block(piece.block).texts(self.job.columns[piece.side].text)
                    if len(first) >= _HEAD_ROWS:
                        break
                texts += first[:_HEAD_ROWS]
        return texts

    def survey(self, readings: Sequence[Reading]) -> None:
        size = self.settings.sample
        limits = {
            side: sample_limit(sum(piece.rows for piece in pieces), size)
            for side, pieces in (("source", self.source), ("target", self.target))
        }
        distinct = {reading.name: reading for reading in readings}
        facts: Facts = self.engine.sum(
            survey, [*self.source, *self.target], self.job, list(distinct.values()), limits, phase="reading"
        )
        self.facts, self._limits = facts, limits
        self.n_source, self.n_target = facts.rows.get("source", 0), facts.rows.get("target", 0)
        names = sorted(facts.labels)
        labelled = [row for row in facts.sample["source"] if row[2] is not None]
        self.source_sample = trim_sample(labelled, size)
        self.target_sample = trim_sample(facts.sample["target"], size)[0]
        if not self.n_target:
            raise DataError("The target has no rows that can be read.", code="no-target")
        if len(names) < 2:
            code, what = ("no-labels", "no label") if not names else ("one-class", f"one class, {names[0]!r}")
            raise DataError(
                f"The source's labels name {what}; at least two classes are needed. Check label=COLUMN.", code=code
            )
        kind = check_label_kind(
            self.source_sample[1], name="The labels of the source", force_classes=self.settings.force_classes
        )
        if kind.message:
            message = f"The labels of the source {kind.message}"
            warn(message, code="data-checks")
        self.classes = np.array(names, dtype=object)

    # -- methods ------------------------------------------------------------------------------------------------------

    def _choose(self) -> dict[str, float]:
        """Weights of the methods that the evidence of the sample supports, as far as they run in blocks."""
        labels = np.array(self.source_sample[1], dtype=object)
        texts = TransferTexts.of(self.source_sample[0], labels, self.target_sample)
        self.candidates = try_methods(texts, **self.settings.as_in_memory())
        choice = decide(self.candidates)
        chosen = {row["method"]: row["weight"] for row in choice.table if row["chosen"] and row["method"] in METHODS}
        if not chosen:  # none of those that the evidence supports runs in blocks: the best supported one that does
            others = [row for row in choice.table if row["method"] in METHODS and "score" in row]
            best = max(others, key=lambda row: row["score"])["method"] if others else YARDSTICK
            chosen = {best: 1.0}
        total = sum(chosen.values())
        sizes = f"{len(labels):,} source and {len(self.target_sample):,} target documents of the sample"
        everything = f"fitted on all {self.n_source:,} and {self.n_target:,}"
        for row in choice.table:
            fitted = row["method"] in chosen
            own = everything if fitted else "does not run in blocks" if row["method"] not in METHODS else "left out"
            self.decision.append({**row, "chosen": fitted, "why": f"on {sizes}: {row['why']}; {own}"})
        return {name: weight / total for name, weight in chosen.items()}

    def view(self, reading: Reading) -> View:
        name = reading.name + ("-pairs" if reading.pairs else "")
        if name not in self.views:
            pieces = [*self.source, *self.target]
            view = build_view(self.engine, self.job, pieces, reading, self.n_source + self.n_target)
            if view.left_out:
                self.notes.append(f"{view.left_out:,} rarer terms beyond {view.n_columns:,} are left out.")
            self.engine.map(make_rows, pieces, self.job, view, self.classes, phase="numbering words")
            self.views[view.name] = view
        return self.views[name]

    def _fit(self, method: LargeMethod, topic: Reading) -> Model:
        reading = method.reading(topic)
        view = View(reading, [], np.zeros(0, dtype=np.int64), 0) if method.texts else self.view(reading)
        passes = self.passes(view)
        estimator = method.make(self.settings.random_state)
        return FittedMethod(estimator.fit_passes(passes), passes.columns)

    def passes(self, view: View) -> PiecePasses:
        """What feeds this run's blocks to a fit."""
        return PiecePasses(self, view)

    def _weigh(self, model: Model) -> Trust:
        scores = model.text_scores(self.target_sample, self.views)
        sizes = f"{len(self.source_sample[0]):,} source and {len(self.target_sample):,} target documents"
        self.notes.append(f"Expected accuracy, new groups and class shares rest on a sample of {sizes}.")
        sample = Sample(*self.source_sample, self.target_sample, self.classes)
        if self.candidates is None:
            return weigh_method(sample, scores, self.settings.as_in_memory())
        return weigh_vote(sample, scores, self.candidates, n_source=sum(self.facts.labels.values()))

    def _sample_view(self, trust: Trust) -> View:
        """The rows that a method has read, or rows of the sample's own words."""
        view = sample_view(trust, segment=self.settings.analyzer == "words")
        if view.name not in self.views:
            self.engine.map(make_rows, self.target, self.job, view, self.classes, phase="numbering words")
            self.views[view.name] = view
        return self.views[view.name]

    def _plain_labels(self, trust: Trust) -> PlainLabels | None:
        """What plain methods say about the documents, where an accuracy is expected of the labels."""
        if trust.judge is None or trust.expected.estimate is None:
            return None
        return plain_labels(trust, self._sample_view(trust), self.target_sample, self.classes)

    def _review_limits(self, trust: Trust, census: Census, *, alone: bool) -> np.ndarray:
        """Confidences below which documents are reviewed; a warning where all of them are."""
        counts, passable, per_class, _ = census
        budget = self.settings.error_budget
        limits = review_limits(counts, budget, trust.caution, trust.surest)
        passed = sum(int(row[limit:].sum()) for row, limit in zip(passable, limits, strict=True))
        if trust.expected.estimate is None:  # whatever the confidence, unless anything may be wrong
            passed = passed if budget == 1 else 0
        elif too_few_pass(passed, self.n_target):
            limits, passed = np.full(2, STEPS + 1), 0
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
            bad_rows=self.facts.bad,
            mean_confidence=round(float(counts @ np.arange(STEPS + 1)) / STEPS / max(1, counts.sum()), 4),
            expected_accuracy=trust.expected,
            class_shares=with_source(shares, self.facts.labels.elements()),
            novel=trust.novel,
            warnings=trust.warnings,
            terms=max((view.n_columns for view in self.views.values()), default=0),
            files=files,
            guarded_cells=sum(guarded for guarded, _ in written) + sum(row.pop("guarded") for row in files),
            notes=self.notes,
        )
        if not self.output.is_file:
            write_json(Path(self.output.place) / MANIFEST, manifest(result))
        return result

    def write_bad_rows(self, path: Path) -> None:
        """Rows that could not be read, in the order of the files."""
        with whole_file(path) as part, open(part, "w", encoding="utf-8") as out:
            for piece in [*self.source, *self.target]:
                for row in unpack(self.store.load(f"facts/{piece.number}")["bad"]):
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")


def manifest(result: LargeResult) -> dict[str, Any]:
    """What stands beside the output files; written last, so that it is there only when they all are."""
    row = {name: value for name, value in asdict(result).items() if name not in ("files", "notes", "classes")}
    return {"command": "isthmus label", "version": __version__, **row, "files": result.files}


# -- the last passes ---------------------------------------------------------------------------------------------------


def take_census(
    piece: Piece,
    job: Job,
    model: Model,
    trust: Trust,
    new: SampleLearner | None,
    plain: PlainLabels | None,
    n_classes: int,
) -> Census:
    """Label a piece, keep its labels, and count confidences (in steps of 1/10,000) and labels.

    Confidences are counted for documents that nobody disputes and for those in dispute, first of all documents, then
    of those that may pass without review. Labels, and last the sums from which class shares are estimated, leave out
    documents without a text.
    """
    scores, no_known_terms = model.piece_scores(piece, job)
    probabilities = trust.probabilities(scores)
    labels, confidence = probabilities.argmax(axis=1).astype(np.int32), probabilities.max(axis=1)
    disputed = np.zeros(len(labels), dtype=bool) if plain is None else plain.dispute(piece, job, labels)
    arrays = {"labels": labels, "no_known_terms": no_known_terms, "disputed": disputed}
    passable = ~no_known_terms
    if new is not None:
        arrays["groups"] = new.best(piece, job)
        confidence = lower_confidence_in_groups(confidence, np.where(arrays["groups"] >= 0, "new", ""))
        passable &= arrays["groups"] < 0
    steps = np.rint(confidence * STEPS).astype(np.int32)
    job.store.save(f"labelled/{piece.number}", {**arrays, "steps": steps})
    places = steps + (STEPS + 1) * disputed
    counted = [
        np.bincount(part, minlength=2 * (STEPS + 1)).reshape(2, STEPS + 1) for part in (places, places[passable])
    ]
    rows = np.setdiff1d(np.arange(len(labels)), job.store.load(f"facts/{piece.number}")["empty"])
    sums = share_sums(probabilities[rows], labels[rows], confidence[rows], trust.expected.caution)
    return counted[0], counted[1], np.bincount(labels[rows], minlength=n_classes), sums


def write_labels(
    piece: Piece,
    job: Job,
    output: Output,
    limits: np.ndarray,
    classes: np.ndarray,
    trust: Trust,
    budget: float,
) -> tuple[int, int]:
    """Write the labelled rows of a piece; cells guarded and documents to review."""
    held = job.store.load(f"labelled/{piece.number}")
    names = np.array([group["group"] for group in trust.novel] + [""], dtype=object)
    low = held["steps"] < limits[held["disputed"].astype(int)]
    reasons = review_reasons(
        len(low),
        error_budget=budget,
        new_group=held["groups"] >= 0 if trust.novel else np.zeros(len(low), dtype=bool),
        no_known_words=held["no_known_terms"],
        methods_disagree=low & held["disputed"],
        not_sure_enough=low,
        not_estimated=np.full(len(low), trust.expected.estimate is None),
    )
    review = reasons != ""
    if output.part(piece).is_file():  # a stopped run has written it
        return 0, int(review.sum())
    rows: Rows = job.read(piece)
    added = {
        "label": classes[held["labels"]].tolist(),
        "confidence": (held["steps"] / STEPS).tolist(),
        "needs_review": review.tolist(),
        "novel_group": names[held["groups"]].tolist() if trust.novel else [""] * len(review),
        "review_reason": reasons.tolist(),
    }
    return write_part(output, piece, rows, added), int(review.sum())
