"""Define every option of ``label`` and ``cluster`` once, with its type, default, limits and help text."""

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
GROUPS = ("files", "learn", "texts", "write", "blocks", "talk")  # of options, in the order of help texts
LARGEST_SEED = 2**32 - 1  # the largest seed that numpy accepts
BLOCK_ROWS = 50_000  # rows per block of a large file
BUDGET_OF = "finished file"  # the labels among which an error budget counts wrong ones
ERROR_BUDGET = 0.1  # accepted share of wrong labels in the finished file, after the marked documents were read
# Columns that labelling adds to the target's table.
ADDED = ("label", "confidence", "needs_review", "novel_group", "review_reason")
SAMPLE = 3_000  # documents per collection for evidence, expected accuracy and calibration


@dataclass(frozen=True)
class Option:
    """Describe one option of a job."""

    name: str  # the field of the request
    kind: type  # type of a single value
    many: bool  # whether it takes several values
    optional: bool  # whether None is allowed
    default: Any
    help: str  # help text
    group: str  # section of help texts
    flags: tuple[str, ...] = ()  # names on the command line; empty if only Python accepts the option
    metavar: str | None = None  # placeholder of the value in help texts
    choices: tuple[str, ...] = ()  # allowed values, if they are a fixed list
    low: float | None = None  # smallest allowed number
    high: float | None = None  # largest allowed number
    python: str = ""  # name in Python functions, if it differs from ``name``
    command_only: bool = False  # whether Python has no such option, or has it in another form
    blocks: bool = True  # whether a run in blocks supports it
    model: bool = True  # whether labelling later texts with a saved model supports it
    usual: Any = None  # value that replaces None
    form: str = ""  # title in the workbench's form; '' if the form does not show the option
    percent: bool = False  # whether the form shows the share in percent
    outcome: bool = True  # whether the output depends on it; a stopped run continues only with the same value

    @property
    def start(self) -> Any:
        """Default value in a form that JSON supports."""
        value = self.fill(self.default)
        return list(value) if self.many and value is not None else value

    def fill(self, value: Any) -> Any:
        """Return the value, or the usual value for None.

        Parameters
        ----------
        value : object

        Returns
        -------
        object
        """
        return self.usual if value is None else value

    @property
    def key(self) -> str:
        """Name in Python, forms and programs."""
        return self.python or self.name

    def read(self, text: str) -> Any:
        """Convert text that was entered in a form to a value.

        Parameters
        ----------
        text : str
            An option with several values has one value per line.

        Returns
        -------
        object

        Raises
        ------
        UsageError
            A number was expected and something else was entered.
        """
        if self.many:
            return [line.strip() for line in text.splitlines() if line.strip()]
        try:
            value = self.kind(text.strip())
        except ValueError:
            raise UsageError(f"{self.form}: {text[:40]!r}; give a number.") from None
        return value / 100 if self.percent else value

    @property
    def shown(self) -> str:
        """Name in messages of the command: the long flag."""
        return self.flags[-1] if self.flags else self.name

    def check(self, value: Any, name: str) -> None:
        """Refuse a value that the option does not allow.

        Parameters
        ----------
        value : object
        name : str
            Name of the option in the error message.

        Raises
        ------
        UsageError
            The value is not allowed.
        """
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
    """Return a dataclass field of a request with all properties of the option.

    Parameters
    ----------
    group : str
        Section of help texts, one of ``GROUPS``.
    default : object
        Default value.
    help : str
        Help text.
    typed : str
        Flags and placeholder on the command line, such as "-o --output OUT"; "" if only Python has the option.
    memory : bool
        Whether only a fit in memory supports the option.
    **more
        Other fields of :class:`Option`.

    Returns
    -------
    dataclasses.Field
    """
    usual = _OF_GROUP.get(group, {}) | ({"blocks": False, "model": False} if memory else {})
    flags, metavar = split_flags(typed)
    known = {"help": help, "group": group, "flags": flags, "metavar": metavar}
    return dataclasses.field(default=default, metadata=known | usual | more)


def split_flags(typed: str) -> tuple[tuple[str, ...], str | None]:
    """Return the flags of an option and the placeholder of its value.

    Parameters
    ----------
    typed : str
        As for :func:`option`.

    Returns
    -------
    flags : tuple of str
    metavar : str or None

    Examples
    --------
    >>> split_flags("-o --output OUT"), split_flags("--force")
    ((('-o', '--output'), 'OUT'), (('--force',), None))
    """
    words = typed.split()
    flags = tuple(takewhile(lambda word: word.startswith("-"), words))
    return flags, " ".join(words[len(flags) :]) or None


# Properties that the options of a group share; an option may override them.
_OF_GROUP = {
    "write": {"outcome": False},
    "talk": {"outcome": False},
    "texts": {"model": False},
    "blocks": {"model": False, "outcome": False},
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """Hold the options that both jobs share: columns, reading of texts, outputs and blocks."""

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
        """Path of the target: the last file."""
        return self.files[-1]

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Return every option by its field name, in the order of help texts.

        Returns
        -------
        dict of str to Option
        """
        kind: Any = cls
        return _options(kind)

    @classmethod
    def form(cls) -> list[Option]:
        """Return the options that a form shows and that programs may set over the network.

        Returns
        -------
        list of Option
        """
        return [spec for spec in cls.options().values() if spec.form]

    @classmethod
    def build(cls, given: Mapping[str, Any]) -> Self:
        """Create a request from options with their Python names.

        Parameters
        ----------
        given : mapping of str to object
            Values by name.

        Returns
        -------
        Request

        Raises
        ------
        UsageError
            A name is unknown, or a value is not allowed.
        """
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
        """Refuse values that an option does not allow.

        Parameters
        ----------
        command : bool
            Whether error messages use the names of the command instead of Python's.

        Raises
        ------
        UsageError
            A value is not allowed.
        """
        for name, spec in self.options().items():
            spec.check(getattr(self, name), spec.shown if command else f"{spec.key}:")

    def reading(self) -> dict[str, Any]:
        """Return the options for the reading of texts, and the seed, with the names that recipes and vectorisers use.

        Returns
        -------
        dict of str to object
        """
        specs = self.options().items()
        return {spec.python or name: getattr(self, name) for name, spec in specs if spec.group == "texts"}

    def deciding(self) -> dict[str, Any]:
        """Return the options that the output of a run in blocks depends on, with their Python names.

        Returns
        -------
        dict of str to object
            For a path, whether one was given.
        """
        decided = {}
        for name, spec in self.options().items():
            value = spec.fill(getattr(self, name))
            if spec.outcome and spec.blocks:
                decided[spec.key] = value is not None if spec.kind is Path else value
        return decided

    def given(self) -> Iterator[Option]:
        """Return the options whose value differs from the default.

        Yields
        ------
        Option
        """
        for name, spec in self.options().items():
            if getattr(self, name) != spec.default:
                yield spec

    def refuse_given(self, why: str, *, can: str) -> None:
        """Refuse options that have no effect on this job.

        Parameters
        ----------
        why : str
            Reason, as the beginning of the error message.
        can : str
            Field of :class:`Option` that is false for options without effect.

        Raises
        ------
        UsageError
            At least one such option was given.
        """
        idle = [spec.shown for spec in self.given() if not getattr(spec, can)]
        if idle:
            raise UsageError(f"{why}; leave out {', '.join(idle)}.")

    def for_record(self) -> dict[str, Any]:
        """Return the options for ``run.json`` as plain values.

        Returns
        -------
        dict of str to object
            Options with a flag that have a value.
        """
        skipped = ("files", "as_json", "force", "quiet")
        sources = self.files[:-1]
        record = {"source": sources[0] if len(sources) == 1 else list(sources), "target": self.target}
        for name, spec in self.options().items():
            value = getattr(self, name)
            if name not in skipped and spec.flags and value not in (None, "", ()):
                record[name] = as_plain(value)
        return record


def as_plain(value: Any) -> Any:
    """Convert a value to a form that JSON supports.

    Parameters
    ----------
    value : object
        A tuple with one item becomes the item.

    Returns
    -------
    object
    """
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
    """Return the type of a single value, whether None is allowed, and whether there may be several values."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional = type(None) in parts
    first = next(part for part in parts if part is not type(None))
    many = get_origin(first) is tuple
    return (get_args(first)[0] if many else first), optional, many


@dataclass(frozen=True, kw_only=True)
class LabelRequest(Request):
    """Hold the options of a labelling job."""

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
        "Vectors by a model: static or minilm (English), use (16 languages, 10 ms per text), a folder, or a name in "
        "'isthmus models list'; none: no vectors.",
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
        "Share of wrong labels accepted in the finished file, after the marked documents were read (0.1).",
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
        """Share of wrong labels accepted among documents without review; the usual share if none was given."""
        return ERROR_BUDGET if self.error_budget is None else self.error_budget


@dataclass(frozen=True, kw_only=True)
class ClusterRequest(Request):
    """Hold the options of a clustering job."""

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
    """Replace Python options in a sentence by the flags of the command.

    Parameters
    ----------
    sentence : str

    Returns
    -------
    str
    """
    return _python_options().sub(_as_flag, sentence)


@cache
def _flags() -> dict[str, str]:
    """Return the flag of every option by its Python name."""
    specs = {**ClusterRequest.options(), **LabelRequest.options()}.values()
    return {spec.key: spec.shown for spec in specs if spec.flags} | {"word_labels": "--words"}


@cache
def _python_options() -> re.Pattern:
    """Return the pattern that finds ``name=value`` in a sentence."""
    names = "|".join(_flags())
    return re.compile(rf"(?<![\w'\"])({names})=(True\b|'[^']*'|…|[A-Z]+\b|\d+(?:\.\d+)?)")


def _as_flag(found: re.Match) -> str:
    """Return the flag for a match of :func:`_python_options`."""
    flag, value = _flags()[found[1]], found[2].strip("'")
    if value == "True":
        return flag
    return f"{flag} {'FILE' if value == '…' else value}"
