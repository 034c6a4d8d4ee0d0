"""``isthmus models``: list recommended sentence encoders, and download one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus._streams import emit, say
from isthmus.cli.app import WholeLines
from isthmus.cli.command import JobCommand, argument, flag
from isthmus.cli.common import print_json

app = typer.Typer(
    cls=WholeLines,
    help="List recommended sentence encoders, or download one for --embed.",
    epilog="Example: isthmus models get bge-small-en-v1.5",
    no_args_is_help=True,
)


def register(program: typer.Typer) -> None:
    """Add the command to the program.

    Parameters
    ----------
    program : typer.Typer
        The program.
    """
    program.add_typer(app, name="models")
    # Without a callback, typer would run a single command directly.
    program.callback()(lambda: None)


@app.command("list", cls=JobCommand)
def list_models(as_json: Annotated[bool, flag("--json", "Print JSON.")] = False) -> None:
    """List recommended sentence encoders: size, license, languages, source, and whether each is on this machine."""
    from isthmus.features.encoder_models import ENCODERS, encoder_folder, is_complete

    rows = [
        {"name": name, **vars(entry), "size": entry.size, "present": is_complete(name, encoder_folder(name))}
        for name, entry in ENCODERS.items()
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        presence = "present" if row["present"] else "missing"
        size = f"{row['size'] / 1e6:,.0f} MB"
        emit(f"{row['name']:<22} {size:>7}  {row['license']}  {row['languages']:<9}  {presence}")
        emit(f"    huggingface.co/{row['repo']} at {row['revision'][:12]}: {', '.join(row['files'])}")


@app.command("get", cls=JobCommand)
def get_model(
    name: Annotated[str, argument("NAME", "A name of isthmus models list.")],
    output: Annotated[Path | None, flag("-o --output FOLDER", "Folder for the files; the cache if omitted.")] = None,
    force: Annotated[bool, flag("--force", "Replace the folder if it exists.")] = False,
) -> None:
    """Download an encoder from huggingface.co and compare its files with their checksums.

    No other command downloads anything. Example: isthmus models get bge-small-en-v1.5, then
    isthmus label source.csv target.csv --embed bge-small-en-v1.5 -o labelled.csv
    """
    from isthmus.features.encoder_models import download_encoder

    folder = download_encoder(name, output, force=force)
    say(f"{folder} is complete; use it with --embed {name if output is None else output}")
