"""``isthmus data``: write the bundled sample as files, and list or import the benchmark corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus._streams import emit
from isthmus.cli.app import WholeLines
from isthmus.cli.bench import load_benchmarks
from isthmus.cli.command import JobCommand, argument, flag
from isthmus.cli.common import print_json, say

app = typer.Typer(
    cls=WholeLines,
    help="Copy the bundled sample, list the benchmark corpora, or make their files from the public archives.",
    no_args_is_help=True,
)


def register(program: typer.Typer) -> None:
    """Add the command to the program.

    Parameters
    ----------
    program : typer.Typer
        The program.
    """
    program.add_typer(app, name="data")
    # Without a callback, typer would run a single command directly.
    program.callback()(lambda: None)


@app.command("sample", cls=JobCommand)
def copy_sample(
    output: Annotated[Path, flag("-o --output FOLDER", "Folder for the files.")] = Path("."),
    force: Annotated[bool, flag("--force", "Replace files that exist.")] = False,
) -> None:
    """Copy the bundled sample: motorcycles.csv (labelled), cars.csv (to be labelled), later.csv (more of the same).

    Example: isthmus data sample, then isthmus label motorcycles.csv cars.csv -o labelled.csv
    """
    from isthmus.corpus.sample import SAMPLE_FILES, sample_file
    from isthmus.corpus.write import check_output, replacing

    output.mkdir(parents=True, exist_ok=True)
    for name in SAMPLE_FILES:
        # Check all files first, so that either all or none are written.
        check_output(output / name, force=force)
    for name in SAMPLE_FILES:
        with replacing(output / name, force=force) as file:
            file.write(sample_file(name))
        say(f"wrote {output / name}")


@app.command("list", cls=JobCommand)
def list_corpora(
    data: Annotated[Path | None, flag("--data FOLDER", "Folder with the corpora; ISTHMUS_DATA if omitted.")] = None,
    as_json: Annotated[bool, flag("--json", "Print JSON.")] = False,
) -> None:
    """List the corpora of the benchmarks and whether the file of each exists; the benchmarks must be installed."""
    rows = load_benchmarks().list_datasets(data)
    if as_json:
        print_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        size = f"{row['documents']:,}" if row["documents"] else "-"
        presence = "present" if row["present"] else "missing"
        emit(f"{row['name']:<{width}}  {size:>8}  {presence:<7}  {row['summary']}")
    if not any(row["present"] for row in rows):
        say("No corpus found: give --data FOLDER or set ISTHMUS_DATA.")


@app.command("import", cls=JobCommand)
def import_corpus(
    name: Annotated[str, argument("CORPUS", "Corpus: newsgroups20, reuters21578, amazon_reviews or sraa.")],
    path: Annotated[Path, argument("ARCHIVE", "The archive as downloaded (.tar.gz, .tgz, .zip) or its folder.")],
    output: Annotated[Path | None, flag("-o --output FILE", "File to write; CORPUS.jsonl.gz if omitted.")] = None,
    force: Annotated[bool, flag("--force", "Replace the output if it exists.")] = False,
) -> None:
    """Turn a public archive into the file that the benchmarks read; they must be installed."""
    target = output or Path(f"{name}.jsonl.gz")
    count = load_benchmarks().import_dataset(name, path, target, force=force)
    say(f"{count:,} documents written to {target}")
