"""Define every option of ``label`` and ``cluster`` once, with its type, default, limits and help text."""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self, Union, get_args, get_origin, get_type_hints

from isthmus.exceptions import UsageError

ANALYZERS = ("auto", "words", "bigrams", "trigrams", "chars")
ENGINES = ("local", "dask", "memory")
FILES, LEARNING, OUTPUT, LARGE = GROUPS = ("Files", "Learning", "Output", "Large files")  # sections of help texts
LARGEST_SEED = 2**32 - 1  # the largest seed that numpy accepts
BLOCK_ROWS = 50_000  # rows per block of a large file
BUDGET_OF = "finished file"  # the labels among which an error budget counts wrong ones
ERROR_BUDGET = 0.1  # accepted share of wrong labels in the finished file, after the marked documents were read
# Columns that labelling adds to the target's table.
ADDED = ("label", "confidence", "needs_review", "novel_group", "review_reason")
SAMPLE = 3_000  # documents per collection for evidence, expected accuracy and calibration
NONE = "none"  # value of an option that is switched off, in Python and on the command line


@dataclass(frozen=True)
class Option:
    """Describe one option of a job."""

    name: str  # the field of the dataclass
    kind: type  # type of a single value
    many: bool  # whether it takes several values
    optional: bool  # whether None is allowed
    default: Any
    group: str  # section of help texts, one of ``GROUPS``
    help: str  # first the effect of the option, then its values
    typed: str = ""  # flags and placeholder on the command line; empty if only Python accepts the option
    first: bool = False  # whether the first screen of the help shows it
    choices: tuple[str, ...] = ()  # allowed values, if they are a fixed list
    low: float | None = None  # smallest allowed number
    high: float | None = None  # largest allowed number
    python: str = ""  # name in Python functions, if it differs from ``name``
    reading: bool = False  # whether vectorisers take it
    command_only: bool = False  # whether Python has no such option, or has it in another form
    blocks: bool = True  # whether a run in blocks supports it
    model: bool = True  # whether labelling later texts with a saved model supports it
    usual: Any = None  # value that replaces None
    form: str = ""  # title in the workbench's form; '' if the form does not show the option
    percent: bool = False  # whether the form shows the share in percent
    outcome: bool = True  # whether the output depends on it; a stopped run continues only with the same value

    @property
    def flags(self) -> tuple[str, ...]:
        """Names on the command line."""
        return tuple(word for word in self.typed.split() if word.startswith("-"))

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
        for part in value if self.many else (value,):
            if self.choices and part not in self.choices:
                raise UsageError(f"{name} {part!r}; use one of {', '.join(self.choices)}.")
            if self.low is None:
                continue
            # True is a whole number for Python, but no sensible value.
            whole = self.kind is int
            is_number = isinstance(part, Integral if whole else Real) and not isinstance(part, bool)
            if not is_number or part < self.low or (self.high is not None and part > self.high):
                what = "whole number" if whole else "number"
                limits = f"from {self.low}" if self.high is None else f"between {self.low} and {self.high}"
                raise UsageError(f"{name} {part!s:.40}; give a {what} {limits}.")


def option(group: str, default: Any, help: str, typed: str = "", *, memory: bool = False, **more: Any) -> Any:
    """Return a dataclass field with all properties of an option.

    Parameters
    ----------
    group : str
        Section of help texts, one of ``GROUPS``.
    default : object
        Default value.
    help : str
        Help text: first the effect of the option, then its values.
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
    known: dict[str, Any] = {"group": group, "help": help, "typed": typed, "outcome": group not in (OUTPUT, LARGE)}
    if memory:
        known |= {"blocks": False, "model": False}
    if group == LARGE or more.get("reading"):
        known["model"] = False
    return dataclasses.field(default=default, metadata=known | more)


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Hold the options that both jobs share: columns, reading of texts, outputs and large files."""

    files: tuple[str, ...] = option(
        FILES, (), "Documents to learn from, then the documents to work on.", outcome=False, command_only=True
    )
    text: tuple[str, ...] | None = option(
        FILES, None, "Column with the text, guessed if omitted; repeat it to join several.", "--text COL", first=True
    )
    label: str | None = option(
        FILES,
        None,
        "Column with the labels of SOURCE, guessed if omitted.",
        "--label COL",
        model=False,
        first=True,
    )
    target_text: tuple[str, ...] | None = option(
        FILES, None, "Column with the text of TARGET, if it has another name than in SOURCE.", "--target-text COL"
    )
    seed: int | None = option(
        LEARNING,
        0,
        "Start of the random numbers: the same seed gives the same result.",
        "--seed N",
        low=0,
        high=LARGEST_SEED,
        python="random_state",
        form="Seed",
        reading=True,
    )
    analyzer: str = option(
        LEARNING,
        "auto",
        "Features to extract from the texts: auto, words, bigrams, trigrams or chars.",
        "--analyzer KIND",
        choices=ANALYZERS,
        reading=True,
    )
    min_df: int | str = option(
        LEARNING, "auto", "Fewest documents that a term must occur in.", blocks=False, reading=True
    )
    language: str = option(
        LEARNING,
        "auto",
        "Language of the texts, identified if omitted: a name or a code, such as German or de.",
        "--language NAME",
        form="Language",
        reading=True,
    )
    output: str = option(
        OUTPUT,
        "-",
        "Write TARGET with its results to this file; - is stdout.",
        "-o --output OUT",
        command_only=True,
        first=True,
    )
    report: Path | None = option(
        OUTPUT,
        None,
        "Write a page with figures, examples and the next step.",
        "--report HTML",
        blocks=False,
        first=True,
    )
    save: Path | None = option(
        OUTPUT,
        None,
        "Save the result, to ask, teach and check later and to label later texts.",
        "--save FILE",
        memory=True,
        first=True,
    )
    engine: str | None = option(
        LARGE,
        None,
        "Read the files in blocks: on this machine (local), on a cluster (dask) or in one process (memory).",
        "--engine NAME",
        choices=ENGINES,
    )
    workers: int | None = option(
        LARGE, None, "Processes that work on blocks; the number of cores if omitted.", "--workers N", low=1
    )
    scheduler: str | None = option(LARGE, None, "Work on the dask cluster with this address.", "--scheduler ADDRESS")
    tls: tuple[str, ...] = option(
        LARGE, (), "Encrypt the connection to --scheduler: ca, cert or key; repeatable.", "--tls NAME=FILE",
        command_only=True,
    )  # fmt: skip
    memory_limit: str | None = option(
        LARGE, None, "Memory of each process of --engine dask, such as 2GB.", "--memory-limit SIZE"
    )
    block_rows: int | None = option(
        LARGE, None, f"Rows to read at a time ({BLOCK_ROWS}).", "--block-rows N", low=1, outcome=True, usual=BLOCK_ROWS
    )
    sample: int = option(LARGE, SAMPLE, "Documents of each side that the evidence rests on.", low=50, outcome=True)
    resume: bool = option(LARGE, False, "Continue a run in blocks that was stopped.", "--resume")
    exact: bool = option(
        OUTPUT,
        False,
        "Write texts of csv and tsv byte for byte, even those that a spreadsheet would run, like =1+1.",
        "--exact",
        outcome=True,
        command_only=True,
    )
    as_json: bool = option(OUTPUT, False, "Print a summary as JSON on stdout.", "--json", command_only=True)
    force: bool = option(OUTPUT, False, "Replace outputs that exist.", "--force", first=True)
    quiet: bool = option(OUTPUT, False, "Hide progress and notes.", "--quiet", command_only=True)

    @property
    def target(self) -> str:
        """Path of the target: the last file."""
        return self.files[-1]

    @classmethod
    @cache
    def options(cls) -> dict[str, Option]:
        """Return every option by its field name, in the order of help texts.

        Returns
        -------
        dict of str to Option
        """
        hints, found = get_type_hints(cls), []
        for field in dataclasses.fields(cls):  # ``Path | None`` and ``tuple[str, ...]`` become type and properties
            hint = hints[field.name]
            parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
            many = get_origin(parts[0]) is tuple
            kind = get_args(parts[0])[0] if many else parts[0]
            found.append(Option(field.name, kind, many, type(None) in parts, field.default, **field.metadata))
        return {spec.name: spec for spec in sorted(found, key=lambda spec: (GROUPS.index(spec.group), spec.reading))}

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
        """Create the options of a job from values with their Python names.

        Parameters
        ----------
        given : mapping of str to object
            Values by name.

        Returns
        -------
        JobOptions

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
        return {spec.key: getattr(self, name) for name, spec in self.options().items() if spec.reading}

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


@dataclass(frozen=True, kw_only=True)
class LabelOptions(JobOptions):
    """Hold the options of a labelling job."""

    id: str | None = option(FILES, None, "Column with the ids of TARGET, guessed if omitted.", "--id COL", blocks=False)
    sheet: str | None = option(
        FILES,
        None,
        "Sheet of a workbook, by name or number; a sheet with a text column if omitted.",
        "--sheet NAME",
        blocks=False,
    )
    read: int | None = option(
        OUTPUT,
        None,
        "Write the N documents that are most worth reading next to OUT, and forecast the effect of your answers.",
        "--read N",
        memory=True,
        low=1,
    )
    answers: Path | None = option(
        FILES,
        None,
        "Learn from answers of a person: a table with the columns id (or document) and true_label.",
        "--answers FILE",
        memory=True,
        first=True,
    )
    target_label: str | None = option(
        FILES, None, "Learn from labels that people gave in this column of TARGET.", "--target-label COL", memory=True
    )
    trust_machine_labels: bool = option(
        FILES,
        False,
        "Learn from a table that Isthmus labelled, which is refused otherwise.",
        "--trust-machine-labels",
        model=False,
        outcome=False,
        command_only=True,
    )
    method: str = option(
        LEARNING,
        "auto",
        "Method that gives the labels: auto tries several and lets the best supported vote; isthmus label --help-all "
        "lists the others.",
        "--method NAME",
        model=False,
        form="Method",
        first=True,
    )
    labeller: str | None = option(
        LEARNING,
        None,
        "Let a command of yours label texts (JSON lines in and out); auto judges it like any other method.",
        "--labeller COMMAND",
        memory=True,
    )
    parameters: tuple[str, ...] = option(
        LEARNING,
        (),
        "Set a parameter of the named method, such as n_word_clusters=64; repeatable.",
        "--set NAME=VALUE",
        memory=True,
        form="Parameters of the method",
    )
    classes: tuple[str, ...] = option(
        LEARNING,
        (),
        "Describe a class by its name, or add one that SOURCE lacks: NAME, or NAME and typical words; repeatable.",
        "--class 'NAME: words'",
        memory=True,
        form="Classes by name",
        first=True,
    )
    class_table: Path | None = option(
        LEARNING,
        None,
        "Describe classes in a table with the columns class and words (or description).",
        "--classes FILE",
        memory=True,
    )
    words: Path | None = option(
        LEARNING,
        None,
        "Learn from labelled words: a table with the columns word, label and weight; none uses no words at all.",
        "--words FILE",
        memory=True,
    )
    extra: tuple[Path, ...] = option(
        LEARNING, (), "Learn from more texts of either side, without labels; repeatable.", "--extra FILE", memory=True
    )
    embed: str | None = option(
        LEARNING,
        None,
        "Compare texts by vectors of a model: static or minilm (English), use (16 languages, 10 ms per text), a "
        "folder, or a name in 'isthmus models list'; none uses no vectors.",
        "--embed MODEL",
        memory=True,
    )
    vectors: str | None = option(
        LEARNING, None, "Compare texts by your own vectors in this column.", "--vectors COL", blocks=False
    )
    by: str | None = option(
        OUTPUT,
        None,
        "Break the class proportions, and the report, down by a column of TARGET.",
        "--by COL",
        blocks=False,
    )
    model: Path | None = option(
        FILES, None, "Label TARGET with a saved result; no SOURCE is needed.", "--model FILE", blocks=False
    )
    error_budget: float | None = option(
        LEARNING,
        None,
        "Share of wrong labels to accept in the finished file, after the marked documents were read (0.1).",
        "--error-budget SHARE",
        low=0,
        high=1,
        usual=ERROR_BUDGET,
        form="Error budget",
        percent=True,
        first=True,
    )
    force_classes: bool = option(
        LEARNING,
        False,
        "Accept labels that do not look like classes (dates, ids, several in one cell).",
        "--force-classes",
        model=False,
    )
    add: tuple[str, ...] = option(
        OUTPUT,
        (),
        "Add only this column to those of TARGET, such as label; repeatable; all if omitted.",
        "--add COL",
        choices=(*ADDED, "given", "answered", "checked"),
        outcome=True,
    )
    bad_rows: Path | None = option(
        LARGE, None, "Set aside rows that cannot be read, instead of stopping.", "--bad-rows FILE", outcome=True
    )

    @property
    def budget(self) -> float:
        """Share of wrong labels accepted among documents without review; the usual share if none was given."""
        return ERROR_BUDGET if self.error_budget is None else self.error_budget


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(JobOptions):
    """Hold the options of a clustering job."""

    label: str | None = option(
        FILES, None, "Column with the groups of SOURCE, guessed if omitted.", "--label COL", first=True
    )
    clusters: int | None = option(
        LEARNING,
        None,
        "Number of clusters; as fine as the groups of SOURCE if omitted.",
        "--clusters K",
        low=1,
        python="n_clusters",
        first=True,
    )
    method: str = option(
        LEARNING,
        "guided",
        "Method that groups the documents: guided, or guided-paper for the setting of the paper.",
        "--method NAME",
        choices=("guided", "guided-paper"),
        blocks=False,
    )
    within: str | None = option(
        FILES,
        None,
        "Split this class, or group that fits none, of a saved result: isthmus cluster RESULT --within LABEL.",
        "--within LABEL",
        blocks=False,
        first=True,
    )
    names: tuple[str, ...] = option(
        FILES,
        (),
        "Make a class of a group that --within found, by its number; repeatable.",
        "--name NUMBER=CLASS",
        blocks=False,
        first=True,
    )
    guidance: float | None = option(
        LEARNING,
        None,
        "Weight of SOURCE, from 0 (plain k-means) to 1; 0.5 or a better value for the pair if omitted.",
        "--guidance WEIGHT",
        low=0,
        high=1,
        first=True,
    )
    pivots: tuple[str, ...] = option(
        LEARNING,
        (),
        "Weight of a shared word in the comparison of groups; 0 ignores the word; repeatable.",
        "--pivot WORD=WEIGHT",
        blocks=False,
    )
    max_iter: int = option(LEARNING, 50, "At most so many passes over the target, in blocks.", low=1)


@cache
def _flags() -> dict[str, str]:
    """Return the flag of every option by its Python name."""
    specs = {**ClusterOptions.options(), **LabelOptions.options()}.values()
    return {spec.key: spec.shown for spec in specs if spec.flags} | {"word_labels": "--words"}


def in_flags(sentence: str) -> str:
    """Replace Python options in a sentence, such as ``method='nbc'``, by the flags of the command.

    Parameters
    ----------
    sentence : str

    Returns
    -------
    str
    """
    flags = _flags()

    def as_flag(found: re.Match) -> str:
        value = "FILE" if found[2] == "…" else found[2].strip("'")
        return flags[found[1]] if value == "True" else f"{flags[found[1]]} {value}"

    return re.sub(rf"(?<![\w'\"])({'|'.join(flags)})=(True\b|'[^']*'|…|[A-Z]+\b|\d+(?:\.\d+)?)", as_flag, sentence)
