"""``isthmus bench``: re-run the papers' tables and figures, and speed against peers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from isthmus._streams import emit, write_talk
from isthmus.cli.command import JobCommand, argument, flag, shared
from isthmus.cli.common import print_json, say
from isthmus.exceptions import DataError, UsageError
from isthmus_bench.datasets import list_datasets
from isthmus_bench.importers import import_dataset

RECORDS = Path("benchmarks", "records")
__all__ = ["import_dataset", "list_datasets", "register"]  # what the program asks of the benchmarks


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    example = "Example: isthmus bench cocc --task rec-talk,sci-talk --method nbc,cocc --data FOLDER"
    app.command("bench", cls=JobCommand, epilog=example)(bench)


def bench(
    suite: Annotated[
        str | None,
        argument(
            "SUITE",
            "Suite to run: a name, a TOML file of an experiment, or a Python file with SUITE. If omitted, list them.",
        ),
    ] = None,
    tuned: Annotated[
        str | None, argument("TUNED", "Suite whose defaults are chosen again, after the word tune.")
    ] = None,
    task: Annotated[
        list[str] | None, flag("--task NAMES", "Tasks, by comma or repeated; default: the suite's.")
    ] = None,
    part: Annotated[
        str | None, flag("--suite PART", "With speed: only the cases of one part, for example gpu.")
    ] = None,
    quick: Annotated[bool, flag("--quick", "With speed: the cases that take two minutes together.")] = False,
    against: Annotated[
        Path | None,
        flag(
            "--against DIR",
            "With speed: measure again and fail where a ratio has fallen by a third since DIR/speed was recorded.",
        ),
    ] = None,
    method: Annotated[list[str] | None, flag("--method --methods NAMES", "Methods, by comma or repeated.")] = None,
    source: Annotated[
        Path | None, flag("--source FILE", "Compare methods on your own files instead of a suite: the labelled source.")
    ] = None,
    target: Annotated[Path | None, flag("--target FILE", "With --source: the target, with its true labels.")] = None,
    label: Annotated[str | None, flag("--label COLUMN", "With --source: the column of labels in both files.")] = None,
    text: Annotated[
        str | None, flag("--text COLUMN", "With --source: the column of texts; guessed if omitted.")
    ] = None,
    latex: Annotated[Path | None, flag("--latex FILE", "With --source: write the table for LaTeX.")] = None,
    study: Annotated[list[str] | None, flag("--study NAMES", "Studies (tables and charts), or all.")] = None,
    seeds: Annotated[str | None, flag("--seeds LIST", "Seeds: a list such as 0,1,2, or their number.")] = None,
    data: Annotated[Path | None, flag("--data DIR", "Folder with the corpora; ISTHMUS_DATA if omitted.")] = None,
    json_file: Annotated[Path | None, flag("--json FILE", "Write the rows as JSON; - for standard output.")] = None,
    csv_file: Annotated[
        Path | None, flag("--csv FILE", "Write the tables as printed: a row per task, a column per method.")
    ] = None,
    record: Annotated[
        Path | None,
        flag("--record DIR", "Store rows, tables and charts in DIR/SUITE (e.g. benchmarks/records)."),
    ] = None,
    verify: Annotated[
        bool,
        flag(
            "--verify",
            "Run recorded rows again (two tasks, or those named) and fail where a value differs. With --record, "
            "which names the folder of the records, rows with the same values are marked there.",
        ),
    ] = False,
    renew: Annotated[
        bool,
        flag(
            "--renew",
            "Compute again what is recorded and was computed by other code, all of it or what is named; --record "
            "names the folder of the records, benchmarks/records if omitted.",
        ),
    ] = False,
    jobs: Annotated[int, flag("--jobs N", "Processes; timings always use one.", min=1)] = 2,
    force: Annotated[bool, flag("--force", "Compute finished rows again; replace files that exist.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
    show: Annotated[bool, flag("--list", "List the suite's tasks, methods and studies.")] = False,
) -> None:
    """Run a benchmark suite: tasks × methods × seeds, in parallel, going on where the last run stopped."""
    from isthmus_bench.engine.harness import find_suite, run_suite, tuning_studies

    tasks, methods, studies = _split(task), _split(method), _split(study)
    if source is not None or target is not None:
        outputs = {"--json": json_file, "--csv": csv_file, "--latex": latex}
        _compare_own_data(source, target, label, text, methods, _read_seeds(seeds), outputs, force=force, quiet=quiet)
        return
    suite, tune = _read_suite(suite, tuned)
    if suite is None or show:
        _print_list(suite)
        return
    chosen_seeds = _read_seeds(seeds)
    suite_or_name: Any = suite
    if suite.endswith(".toml"):
        from isthmus_bench.experiments import read_experiment

        found, wanted = read_experiment(suite)
        suite_or_name, suite = found, found.name
        tasks, methods, studies = (
            given or wanted[key] for given, key in ((tasks, "tasks"), (methods, "methods"), (studies, "studies"))
        )
        chosen_seeds = chosen_seeds or wanted["seeds"]
    else:
        found = find_suite(suite)
    if part is not None:
        tasks = [*(tasks or []), *_cases(suite, part)]
    if quick:
        tasks = [*(tasks or []), *_quick_cases(suite)]
    recorded = None if against is None else _recorded(suite, against)
    if verify:
        _verify(suite, record, data, tasks, methods, jobs, quiet)
        return
    if tune and not studies:
        studies = tuning_studies(found)
    if renew:
        if seeds is not None:
            raise UsageError("--renew takes the seeds of the record; leave --seeds out.", code="bad-parameter")
        record = record or RECORDS
    _check_file(json_file, "--json", force)
    _check_file(csv_file, "--csv", force)
    talk = _Talk(quiet)
    try:
        run = run_suite(
            suite_or_name,
            data,
            tasks,
            methods,
            chosen_seeds,
            jobs,
            record,
            force or recorded is not None,
            talk,
            studies=studies,
            command=f"isthmus bench tune {found.name}"
            if tune
            else _command(suite, tasks, methods, studies, seeds, renew=renew),
            renew=renew,
        )
    except KeyboardInterrupt:
        say(f"Stopped; {_rows(talk.done)} kept, the same command goes on from there.")
        raise typer.Exit(130) from None
    _print_run(found, run, to_stderr=str(json_file) == "-")
    if json_file is not None:
        _write_json(json_file, run.to_json())
    if csv_file is not None:
        _write_csv(csv_file, found, run)
    if record is not None or studies:
        _write_record(found, run, quiet)
    if run.failures:
        say(f"{len(run.failures)} of the units failed; the first says: {run.failures[0]['failure']}")
        raise typer.Exit(1)
    _check_ratios(run.rows, recorded)


def _compare_own_data(
    source: Path | None,
    target: Path | None,
    label: str | None,
    text: str | None,
    methods: list[str] | None,
    seeds: list[int] | None,
    outputs: dict[str, Path | None],
    *,
    force: bool,
    quiet: bool,
) -> None:
    """Compare methods on two files of the user, print the table and write it."""
    from isthmus_bench.engine.tables import table_grid, to_csv
    from isthmus_bench.own_data import DEFAULT_METHODS, check_methods, compare_methods, latex_table, read_task

    if source is None or target is None or label is None:
        raise UsageError("Give --source FILE, --target FILE and --label COLUMN together.", code="bad-parameter")
    check_methods(methods or DEFAULT_METHODS)
    for option, path in outputs.items():
        _check_file(path, option, force)
    data = read_task(source, target, label, text)
    rows = compare_methods(data, methods or DEFAULT_METHODS, seeds or (0,), (lambda line: None) if quiet else say)
    emit(table_grid(rows, title=f"{source.name} → {target.name}").text())
    for option, write in (("--csv", to_csv), ("--latex", latex_table)):
        path = outputs[option]
        if path is not None:
            path.write_text(write(rows), encoding="utf-8")
    if outputs["--json"] is not None:
        _write_json(outputs["--json"], {"suite": "own-data", "rows": rows})


def _verify(
    suite: str, record: Path | None, data: Path | None, tasks: Any, methods: Any, jobs: int, quiet: bool
) -> None:
    """Say whether recorded rows come out again, and fail if one does not."""
    from isthmus_bench.engine.verify import verify_record

    folder, note = record or RECORDS, record is not None
    found = verify_record(suite, folder, data, tasks, methods, jobs, _Talk(quiet), note=note)
    for sentence in found.sentences:
        emit(sentence)
    if found.different:
        raise typer.Exit(1)


def _check_ratios(rows: list[dict], recorded: list[dict] | None) -> None:
    """Say which ratios have fallen, and fail if any has."""
    from isthmus_bench.suites.speed import fallen

    slower = [] if recorded is None else fallen(rows, recorded)
    for line in slower:
        say(line)
    if slower:
        raise typer.Exit(1)


# ------------------------------------------------------------------------------------------------------------ input


def _read_suite(suite: str | None, tuned: str | None) -> tuple[str | None, bool]:
    """The suite, and whether its defaults are to be chosen again (``isthmus bench tune SUITE``)."""
    if suite == "tune":
        if tuned is None:
            raise UsageError("tune needs a suite, for example: isthmus bench tune cocc.", code="bad-parameter")
        return tuned, True
    if tuned is not None:
        raise UsageError(
            f"isthmus bench takes one suite; {tuned!r} came after {suite!r}. Only tune is followed by a suite.",
            code="bad-parameter",
        )
    return suite, False


def _cases(suite: str, part: str) -> list[str]:
    if suite != "speed":
        raise UsageError(f"--suite belongs to the suite speed; {suite!r} has no parts.", code="bad-parameter")
    from isthmus_bench.suites.speed import case_names

    return case_names(part)


def _quick_cases(suite: str) -> list[str]:
    if suite != "speed":
        raise UsageError(f"--quick belongs to the suite speed; {suite!r} has none.", code="bad-parameter")
    from isthmus_bench.suites.speed import quick_names

    return quick_names()


def _recorded(suite: str, folder: Path) -> list[dict]:
    """Rows of the record that this run is compared with."""
    if suite != "speed":
        raise UsageError(f"--against belongs to the suite speed; {suite!r} has no ratios.", code="bad-parameter")
    path = folder / "speed" / "results.json"
    if not path.is_file():
        raise DataError(f"There is no record {path}; write one with --record {folder}.", code="missing-file")
    return json.loads(path.read_text("utf-8"))["rows"]


def _split(values: list[str] | None) -> list[str] | None:
    names = [name.strip() for value in values or () for name in value.split(",")]
    return list(dict.fromkeys(name for name in names if name)) or None


def _read_seeds(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--seeds is {text!r}; give numbers such as 0,1,2, or how many.", code="bad-parameter"
        ) from None
    counted = len(numbers) == 1 and "," not in text
    if min(numbers) < 0 or (counted and numbers[0] == 0):
        raise UsageError(
            f"--seeds is {text!r}; give seeds of 0 or more, such as 0,1,2; a single number says how many, so 1 is seed "
            "0 alone.",
            code="bad-parameter",
        )
    return list(range(numbers[0])) if counted else numbers


def _command(suite: str, tasks: Any, methods: Any, studies: Any, seeds: str | None, *, renew: bool = False) -> str:
    """The command without the places on this machine."""
    options = {"--task": tasks, "--method": methods, "--study": studies}
    name = Path(suite).name if suite.endswith(".py") else suite
    words = [word for option, names in options.items() if names for word in (option, ",".join(names))]
    words += ["--seeds", seeds] if seeds else []
    return " ".join(["isthmus bench", name, *words, *(["--renew"] if renew else [])])


# ----------------------------------------------------------------------------------------------------------- output


class _Talk:
    """Progress on standard error: one line per finished unit."""

    def __init__(self, quiet: bool):
        self.quiet, self.done = quiet, 0

    def __call__(self, event: dict) -> None:
        if event["event"] == "plan":
            if event["kept"]:
                self._say(f"{_rows(event['kept'])} kept from an earlier run (--force computes them again)")
            return
        if event["event"] in ("begin", "step"):
            self._show(event)
            return
        self.done = event["done"]
        name = event["task"] if event["study"] else f"{event['task']}  {event['method']}"
        seed = "" if event["seed"] is None else f"  seed {event['seed']}"
        shown = [row for row in event["rows"][:3] if {"metric", "value"} <= row.keys()]  # a study may name its own
        said = event["failure"] or ", ".join(map(_result, shown))
        self._say(f"[{event['done']}/{event['total']}] {name}{seed}  {said}  {event['seconds']:.1f} s")
        for warning in event["warnings"][:2]:
            self._say(f"    {warning}")

    def _show(self, event: dict) -> None:
        """What is going on now, on one line of a terminal that the next line overwrites."""
        if self.quiet or not _is_terminal():
            return
        whole = f" of {event['total']}" if event.get("total") else ""
        doing = event["method"] if event["event"] == "begin" else f"{event['phase']} {event['done']}{whole}"
        write_talk(f"\r\033[K    {event['task']}  {doing} …")

    def _say(self, text: str) -> None:
        if self.quiet:
            return
        say(("\r\033[K" if _is_terminal() else "") + text)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _rows(count: int) -> str:
    return "1 finished row is" if count == 1 else f"{count} finished rows are"


def _result(row: dict) -> str:
    value = row["value"]
    return f"{row['metric']} {value:.4f}" if isinstance(value, (int, float)) else f"{row['metric']} {value}"


def _print_run(found: Any, run: Any, *, to_stderr: bool) -> None:
    from isthmus_bench.engine.records import contrasts
    from isthmus_bench.engine.tables import derived_tables, significance_grid, suite_grids, table_grid

    parts = [grid.text() for grid in suite_grids(found, run.rows, run.not_run)]
    parts += [table_grid(rows, title=name).text() for name, rows in derived_tables(found, run.record).items()]
    shown = {row["task"] for row in run.rows}
    tests = [test for test in contrasts(found, run.record) if test["task"] in shown]
    if tests:
        parts.append("McNemar's exact test against the best of the others\n" + significance_grid(tests).text())
    parts += [table_grid(rows, title=name).text() for name, rows in run.studies.items() if rows]
    parts += [f"{name}: not run, {reason}" for name, reason in run.not_run.items()]
    (say if to_stderr else emit)("\n\n".join(parts))


def _check_file(path: Path | None, option: str, force: bool) -> None:
    """Refuse before the work: a file that holds something is not replaced, and the folder must be there."""
    if path is None or (str(path) == "-" and option == "--json"):
        return
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file for {option}.", code="output-unwritable")
    if path.is_file() and path.stat().st_size and not force:
        raise DataError(f"{path} exists; give another name, or --force to replace it.", code="output-exists")
    if not path.resolve().parent.is_dir():
        raise DataError(f"There is no folder {path.parent} for {path.name}; make it first.", code="output-unwritable")


def _write_json(path: Path, content: dict) -> None:
    if str(path) == "-":
        print_json(content)
        return
    from isthmus_bench.engine.records import write_json

    write_json(path, content)


def _write_csv(path: Path, found: Any, run: Any) -> None:
    """The printed tables below each other, each row with the name of its metric."""
    from isthmus_bench.engine.tables import suite_grids, to_csv

    tables = suite_grids(found, run.rows, run.not_run)
    rows = [
        {"metric": grid.title, **dict(zip(grid.header, line, strict=True))} for grid in tables for line in grid.body
    ]
    path.write_text(to_csv(rows), encoding="utf-8")


def _write_record(found: Any, run: Any, quiet: bool) -> None:
    """Pages beside the record, and the studies' charts."""
    from isthmus.report.charts import draw, save_chart
    from isthmus_bench.engine.tables import derived_tables, write_pages

    written = write_pages(found, run.record, run.not_run)
    specs = {**{name: study.chart for name, study in found.studies.items()}, **found.charts}
    for name, rows in {**run.studies, **derived_tables(found, run.record)}.items():
        spec = specs.get(name)
        if not spec or not rows:
            continue
        written.append(save_chart(draw(rows, spec), run.record.path.parent / f"{name}.svg"))
    if not quiet:
        say(f"Recorded in {run.record.path.parent}: {', '.join(path.name for path in written)}")


def _print_list(suite: str | None) -> None:
    from isthmus_bench import SUITES
    from isthmus_bench.engine.harness import find_suite

    if suite is None:
        width = max(map(len, SUITES))
        for name in SUITES:
            emit(f"{name:<{width}}  {SUITES[name].summary}")
        return
    found = find_suite(suite)
    emit(f"{found.name}: {found.summary}")
    for kind, names, default in (
        ("tasks", [*found.tasks, *found.absent], found.default_tasks),
        ("methods", list(found.methods), found.default_methods),
        ("studies", list(found.studies), ()),
    ):
        if names:
            shown = (
                n if default is None or n in default or kind == "studies" else f"({n})" for n in dict.fromkeys(names)
            )
            emit(f"{kind}: {', '.join(shown)}")
