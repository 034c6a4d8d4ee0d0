"""What a job was asked for: every option of ``label`` and ``cluster`` once, with type, default, limits and help."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from isthmus.exceptions import UsageError

ANALYZERS = ("auto", "words", "bigrams", "trigrams", "chars")
ENGINES = ("local", "dask", "memory")
GROUPS = ("files", "learn", "texts", "write", "blocks", "talk")  # in the order of help texts
LARGEST_SEED = 2**32 - 1
BLOCK_ROWS = 50_000
ERROR_BUDGET = 0.1  # share of wrong labels among those that need no review
ADDED = ("label", "confidence", "needs_review", "novel_group", "review_reason")  # columns that a labelling adds
SAMPLE = 3_000  # documents of each side that evidence, expectation and calibration rest on


@dataclass(frozen=True)
class Option:
    """One option of a job."""

    name: str  # the field of the request
    kind: type  # of a single value
    many: bool  # whether it takes several values
    optional: bool  # whether it may be left out as None
    default: Any
    help: str  # a sentence for people
    group: str  # where it stands in help texts
    flags: tuple[str, ...] = ()  # how the command calls it; empty where only Python takes it
    metavar: str | None = None  # what stands for the value in help texts
    choices: tuple[str, ...] = ()  # values that are allowed, where they can be listed
    low: float | None = None  # limits of a number, both allowed
    high: float | None = None
    python: str = ""  # what :func:`isthmus.label` and its relatives call it
    command_only: bool = False  # whether only the command takes it in this form; Python in another, or not at all
    blocks: bool = True  # whether a run in blocks can do it
    model: bool = True  # whether a saved model can do it on later texts
    usual: Any = None  # what it is where it was left out as None
    form: str = ""  # its title in the workbench's form; '' where the form does not show it
    percent: bool = False  # whether the form shows a share as percent
    outcome: bool = True  # whether what is written depends on it: a stopped run goes on only with the same value

    @property
    def start(self) -> Any:
        """What it is where nobody says otherwise, as JSON holds it."""
        value = self.fill(self.default)
        return list(value) if self.many and value is not None else value

    def fill(self, value: Any) -> Any:
        """A value, or the usual one where it was left out as None."""
        return self.usual if value is None else value

    @property
    def key(self) -> str:
        """What Python, forms and programs call it."""
        return self.python or self.name

    def read(self, text: str) -> Any:
        """The value that was typed into a form; of several, one a line."""
        if self.many:
            return [line.strip() for line in text.splitlines() if line.strip()]
        try:
            value = self.kind(text.strip())
        except ValueError:
            raise UsageError(f"{self.form}: {text[:40]!r}; give a number.") from None
        return value / 100 if self.percent else value

    @property
    def shown(self) -> str:
        """How the command shows it: its long flag."""
        return self.flags[-1] if self.flags else self.name

    def check(self, value: Any, name: str) -> None:
        """Refuse a value that is outside the table, under the name by which it was given."""
        if value is None and self.optional:
            return
        values = value if self.many else (value,)
        unknown = [part for part in values if self.choices and part not in self.choices]
        if unknown:
            raise UsageError(f"{name} {unknown[0]!r}; use one of {', '.join(self.choices)}.")
        if self.kind in (int, float) and (self.low is not None or self.high is not None):
            for part in values:
                self._check_number(part, name)

    def _check_number(self, value: Any, name: str) -> None:
        whole = self.kind is int
        is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
        if is_number and (self.low is None or value >= self.low) and (self.high is None or value <= self.high):
            return
        what = "whole number" if whole else "number"
        limits = f"from {self.low}" if self.high is None else f"between {self.low} and {self.high}"
        raise UsageError(f"{name} {value!s:.40}; give a {what} {limits}.")


def option(group: str, default: Any, help: str, typed: str = "", *, memory: bool = False, **more: Any) -> Any:
    """A field of a request with everything that is known about it.

    ``group``: where it stands in help texts; ``typed``: how the command takes it, as "-o --output OUT"; ``memory``:
    only a fit in memory can do it.
    """
    usual = _OF_GROUP.get(group, {}) | ({"blocks": False, "model": False} if memory else {})
    flags, metavar = split_flags(typed)
    known = {"help": help, "group": group, "flags": flags, "metavar": metavar}
    return dataclasses.field(default=default, metadata=known | usual | more)


def split_flags(typed: str) -> tuple[tuple[str, ...], str | None]:
    """The flags of an option, and what stands for its value in help texts.

    >>> split_flags("-o --output OUT"), split_flags("--force")
    ((('-o', '--output'), 'OUT'), (('--force',), None))
    """
    words = typed.split()
    flags = tuple(takewhile(lambda word: word.startswith("-"), words))
    return flags, " ".join(words[len(flags) :]) or None


# What options of a group have in common, unless they say otherwise.
_OF_GROUP = {
    "write": {"outcome": False},
    "talk": {"outcome": False},
    "texts": {"model": False},
    "blocks": {"model": False, "outcome": False},
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """What both jobs share: which columns to read, how to read texts, where to write, how to work in blocks."""

    files: tuple[str, ...] = option(
        "files", (), "Documents to learn from, then the documents to work on.", outcome=False, command_only=True
    )
    text: tuple[str, ...] | None = option(
        "files", None, "Text column; several are joined. Guessed if omitted.", "--text COL"
    )
    label: str | None = option(
        "files", None, "Label column of the source; guessed if omitted.", "--label COL", model=False
    )
    target_text: tuple[str, ...] | None = option(
        "files", None, "Text column of the target, if it differs.", "--target-text COL"
    )
    seed: int | None = option(
        "texts", 0, "Same seed, same answer.", "--seed", low=0, high=LARGEST_SEED, python="random_state", form="Seed"
    )
    analyzer: str = option("texts", "auto", "auto, words, bigrams, trigrams or chars.", "--analyzer", choices=ANALYZERS)
    min_df: int | str = option("texts", "auto", "Fewest documents that a term must occur in.", blocks=False)
    language: str = option(
        "texts",
        "auto",
        "Language of the texts, such as German or de; identified if omitted.",
        "--language",
        form="Language",
    )
    output: str = option(
        "write", "-", "Where to write the target with its results; - is stdout.", "-o --output OUT", command_only=True
    )
    report: Path | None = option("write", None, "Write a report page.", "--report HTML", blocks=False)
    save: Path | None = option(
        "write", None, "Save the model with its texts and what was found.", "--save FILE", memory=True
    )
    engine: str | None = option(
        "blocks",
        None,
        "Read the files in blocks, on this machine (local) or on a cluster (dask).",
        "--engine",
        choices=ENGINES,
    )
    workers: int | None = option(
        "blocks", None, "Processes that work on blocks; the number of cores if omitted.", "--workers N", low=1
    )
    scheduler: str | None = option("blocks", None, "Address of a running dask scheduler.", "--scheduler ADDRESS")
    tls: tuple[str, ...] = option(
        "blocks", (), "For --scheduler: ca, cert or key; repeatable.", "--tls NAME=FILE", command_only=True
    )
    memory_limit: str | None = option(
        "blocks", None, "With --engine dask: memory of each process, such as 2GB.", "--memory-limit SIZE"
    )
    block_rows: int | None = option(
        "blocks",
        None,
        f"Rows to read at a time ({BLOCK_ROWS}).",
        "--block-rows N",
        low=1,
        outcome=True,
        usual=BLOCK_ROWS,
    )
    sample: int = option("blocks", SAMPLE, "Documents of each side that the evidence rests on.", low=50, outcome=True)
    resume: bool = option("blocks", False, "Continue a run in blocks that was stopped.", "--resume")
    exact: bool = option(
        "write",
        False,
        "In csv and tsv, write texts byte for byte, even those like =1+1.",
        "--exact",
        outcome=True,
        command_only=True,
    )
    as_json: bool = option("talk", False, "Print a summary as JSON on stdout.", "--json", command_only=True)
    force: bool = option("talk", False, "Replace outputs that exist.", "--force")
    quiet: bool = option("talk", False, "Hide progress and notes.", "--quiet", command_only=True)

    @property
    def target(self) -> str:
        """The last file."""
        return self.files[-1]

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Every option by its name, in the order of help texts."""
        kind: Any = cls
        return _options(kind)

    @classmethod
    def form(cls) -> list[Option]:
        """Options that a form shows, and programs may set over the network."""
        return [spec for spec in cls.options().values() if spec.form]

    @classmethod
    def build(cls, given: Mapping[str, Any]) -> Self:
        """A request from options by the names that Python gives them; an unknown one is refused with a suggestion."""
        names = {spec.key: name for name, spec in cls.options().items()}
        known: dict[str, Any] = {}
        for name, value in given.items():
            if name not in names:
                close = get_close_matches(name, names, n=1)
                meant = f"; did you mean {close[0]}?" if close else f"; it has {', '.join(names)}."
                raise UsageError(f"There is no option {name[:40]!r}{meant}")
            spec = cls.options()[names[name]]
            if spec.many and value is not None:
                value = (value,) if isinstance(value, str) else tuple(value)
            known[spec.name] = value
        request = cls(**known)
        request.check(command=False)
        return request

    def check(self, *, command: bool = True) -> None:
        """Refuse values outside the table; in the words of the command, or of Python."""
        for name, spec in self.options().items():
            spec.check(getattr(self, name), spec.shown if command else f"{spec.key}:")

    def reading(self) -> dict[str, Any]:
        """How texts are read, and the seed, by the names that recipes and vectorisers give them."""
        specs = self.options().items()
        return {spec.python or name: getattr(self, name) for name, spec in specs if spec.group == "texts"}

    def deciding(self) -> dict[str, Any]:
        """What the outcome of a run in blocks depends on, as Python names it; of files, whether one is named."""
        decided = {}
        for name, spec in self.options().items():
            value = spec.fill(getattr(self, name))
            if spec.outcome and spec.blocks:
                decided[spec.key] = value is not None if spec.kind is Path else value
        return decided

    def given(self) -> Iterator[Option]:
        """Options that differ from what they are when left out."""
        for name, spec in self.options().items():
            if getattr(self, name) != spec.default:
                yield spec

    def refuse_given(self, why: str, *, can: str) -> None:
        """Refuse options that can do nothing here, those whose field ``can`` is false; ``why`` begins the sentence."""
        idle = [spec.shown for spec in self.given() if not getattr(spec, can)]
        if idle:
            raise UsageError(f"{why}; leave out {', '.join(idle)}.")

    def for_record(self) -> dict[str, Any]:
        """Options that were given, and those whose default is a value, as plain values for ``run.json``."""
        skipped = ("files", "as_json", "force", "quiet")
        sources = self.files[:-1]
        record = {"source": sources[0] if len(sources) == 1 else list(sources), "target": self.target}
        for name, spec in self.options().items():
            value = getattr(self, name)
            if name not in skipped and spec.flags and value not in (None, "", ()):
                record[name] = as_plain(value)
        return record


def as_plain(value: Any) -> Any:
    """A value as JSON holds it; one name of several stands alone."""
    if isinstance(value, tuple):
        parts = [as_plain(part) for part in value]
        return parts[0] if len(parts) == 1 else parts
    return str(value) if isinstance(value, Path) else value


@cache
def _options(cls: type[Request]) -> dict[str, Option]:
    hints = get_type_hints(cls)
    found = {}
    for part in dataclasses.fields(cls):
        kind, optional, many = _read_type(hints[part.name])
        found[part.name] = Option(part.name, kind, many, optional, part.default, **part.metadata)
    return dict(sorted(found.items(), key=lambda item: GROUPS.index(item[1].group)))


def _read_type(hint: Any) -> tuple[type, bool, bool]:
    """Kind of a single value, whether None is allowed, whether there may be several."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional = type(None) in parts
    first = next(part for part in parts if part is not type(None))
    many = get_origin(first) is tuple
    return (get_args(first)[0] if many else first), optional, many


@dataclass(frozen=True, kw_only=True)
class LabelRequest(Request):
    """Everything that can be asked of a labelling."""

    id: str | None = option("files", None, "Id column of the target; guessed if omitted.", "--id COL", blocks=False)
    sheet: str | None = option(
        "files", None, "Sheet of a workbook, by name or number; the first if omitted.", "--sheet NAME", blocks=False
    )
    read: int | None = option(
        "write",
        None,
        "You can read N documents: writes which next to OUT, and says what your answers should bring.",
        "--read N",
        memory=True,
        low=1,
    )
    answers: Path | None = option(
        "files", None, "Answers of a person: columns id (or document), true_label.", "--answers FILE", memory=True
    )
    target_label: str | None = option(
        "files", None, "Column of TARGET with labels that people gave.", "--target-label COL", memory=True
    )
    trust_machine_labels: bool = option(
        "files",
        False,
        "Learn from a table that Isthmus labelled.",
        "--trust-machine-labels",
        model=False,
        outcome=False,
        command_only=True,
    )
    method: str = option(
        "learn",
        "auto",
        "auto, which tries several and lets the best supported vote, or the name of one.",
        "--method",
        model=False,
        form="Method",
    )
    labeller: str | None = option(
        "learn",
        None,
        "A command that labels texts (JSON lines in and out); auto judges it like any other method.",
        "--labeller COMMAND",
        memory=True,
    )
    parameters: tuple[str, ...] = option(
        "learn",
        (),
        "Parameter of the named method, such as n_word_clusters=64; repeatable.",
        "--set NAME=VALUE",
        memory=True,
        form="Parameters of the method",
    )
    classes: tuple[str, ...] = option(
        "learn",
        (),
        "A class by its name, or by name and words; repeatable. Classes that SOURCE lacks are added.",
        "--class 'NAME: words'",
        memory=True,
        form="Classes by name",
    )
    class_table: Path | None = option(
        "learn", None, "The same as a table: columns class, words or description.", "--classes FILE", memory=True
    )
    words: Path | None = option(
        "learn",
        None,
        "Labelled words (columns word, label, weight); 'none' also switches the general lexicon off.",
        "--words FILE",
        memory=True,
    )
    extra: tuple[Path, ...] = option(
        "learn", (), "More texts of either side, without labels; repeatable.", "--extra FILE", memory=True
    )
    embed: str | None = option(
        "learn",
        None,
        "Vectors by a model: static, minilm (both English), a folder or name; none: no vectors.",
        "--embed MODEL",
        memory=True,
    )
    vectors: str | None = option(
        "learn", None, "Column that holds a vector for each document.", "--vectors COL", blocks=False
    )
    by: str | None = option(
        "write", None, "Break class shares, and the report, down by a column of the target.", "--by COL", blocks=False
    )
    model: Path | None = option(
        "write", None, "Label with a saved model; no SOURCE is needed.", "--model FILE", blocks=False, outcome=True
    )
    error_budget: float | None = option(
        "learn",
        None,
        "Share of wrong labels accepted among those that need no review (0.1).",
        "--error-budget",
        low=0,
        high=1,
        usual=ERROR_BUDGET,
        form="Error budget",
        percent=True,
    )
    force_classes: bool = option(
        "learn",
        False,
        "Accept labels that do not look like classes (dates, ids, several in one cell).",
        "--force-classes",
        model=False,
    )
    add: tuple[str, ...] = option(
        "write",
        (),
        "Add only this column to those of the target, such as label; repeatable. Omitted: all.",
        "--add COL",
        choices=(*ADDED, "given", "answered", "checked"),
        outcome=True,
    )
    bad_rows: Path | None = option(
        "blocks", None, "Set aside rows that cannot be read, instead of stopping.", "--bad-rows FILE", outcome=True
    )

    @property
    def budget(self) -> float:
        """The error budget, where none was given the usual one."""
        return ERROR_BUDGET if self.error_budget is None else self.error_budget


@dataclass(frozen=True, kw_only=True)
class ClusterRequest(Request):
    """Everything that can be asked of a grouping."""

    label: str | None = option("files", None, "Column with the source's groups; guessed if omitted.", "--label COL")
    clusters: int | None = option(
        "learn",
        None,
        "Number of clusters; if omitted, as fine as the groups of the source.",
        "--clusters K",
        low=1,
        python="n_clusters",
    )
    method: str = option(
        "learn",
        "guided",
        "guided, or guided-paper for the setting of the paper.",
        "--method",
        choices=("guided", "guided-paper"),
        blocks=False,
    )
    within: str | None = option(
        "files",
        None,
        "Split this class, or group that fits none, of a labelling: isthmus cluster RESULT --within LABEL.",
        "--within LABEL",
        blocks=False,
    )
    names: tuple[str, ...] = option(
        "files",
        (),
        "With --within: make a class of a subtopic, by its number; repeatable.",
        "--name NUMBER=CLASS",
        blocks=False,
    )
    guidance: float | None = option(
        "learn",
        None,
        "Weight of the source, from 0 (plain k-means) to 1; if omitted, 0.5 or what suits the pair better.",
        "--guidance",
        low=0,
        high=1,
    )
    pivots: tuple[str, ...] = option(
        "learn",
        (),
        "How much a shared word counts when groups are compared, 0 to leave it out; repeatable.",
        "--pivot WORD=WEIGHT",
        blocks=False,
    )
    max_iter: int = option("learn", 50, "At most so many passes over the target, in blocks.", low=1)


def in_flags(sentence: str) -> str:
    """A sentence that names options as Python does, as the command says it."""
    return _python_options().sub(_as_flag, sentence)


@cache
def _flags() -> dict[str, str]:
    specs = {**ClusterRequest.options(), **LabelRequest.options()}.values()
    return {spec.key: spec.shown for spec in specs if spec.flags} | {"word_labels": "--words"}


@cache
def _python_options() -> re.Pattern:
    names = "|".join(_flags())
    return re.compile(rf"(?<![\w'\"])({names})=(True\b|'[^']*'|…|[A-Z]+\b|\d+(?:\.\d+)?)")


def _as_flag(found: re.Match) -> str:
    flag, value = _flags()[found[1]], found[2].strip("'")
    if value == "True":
        return flag
    return f"{flag} {'FILE' if value == '…' else value}"
