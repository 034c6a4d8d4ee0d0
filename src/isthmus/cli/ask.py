"""``isthmus ask``: list the documents or words that a person should answer next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from isthmus._utils import plural
from isthmus.cli.command import argument, flag, refuse, shared
from isthmus.cli.common import print_json, say_outcome, talking, taught_files
from isthmus.cli.outputs import check_output_is_not_input, write_table
from isthmus.corpus import check_output
from isthmus.corpus.sheets import Layout
from isthmus.saving import check_saved_file

EXAMPLE = "Example: isthmus ask cars.isthmus -n 50 -o to_answer.xlsx"


def ask(
    result: Annotated[Path, argument("RESULT", "File that isthmus label --save wrote.")],
    number: Annotated[
        int, flag("-n --number --read N", "Number of documents or words that you can answer.", min=1)
    ] = 50,
    words: Annotated[bool, flag("--words", "Ask about words instead of documents.")] = False,
    suggest: Annotated[
        bool, flag("--suggest", "Show the label given so far; readers who see it tend to agree.")
    ] = False,
    output: Annotated[str, flag("-o --output FILE", "File for the questions; - is stdout.")] = "-",
    exact: Annotated[bool, shared("exact")] = False,
    as_json: Annotated[bool, shared("as_json")] = False,
    force: Annotated[bool, shared("force", "Replace an output that exists.")] = False,
    quiet: Annotated[bool, shared("quiet")] = False,
) -> None:
    """Write the documents that a person should answer next, the most useful first, each with the reason.

    Fill in the column true_label and give the file to isthmus teach. In a workbook (.xlsx) you can choose a class
    from a list; another name creates a new class. The command forecasts how many documents will be left to review,
    and how many of all labels will be right. With --words it lists the words that would resolve most uncertain
    documents; fill in label and give the file to isthmus teach --words.
    """
    # Options that contradict each other are refused before the saved result is read.
    refuse(
        (words and suggest, "--words always comes with suggestions; leave out --suggest."),
        (as_json and output == "-", "--json prints on stdout; name a file for the questions with -o FILE."),
    )
    check_output(output, force=force)
    check_output_is_not_input(output, (result,))
    check_saved_file(result)
    with talking(quiet):
        # Imported late: refusing wrong options must not wait for numpy.
        from isthmus.saving import load

        saved = load(result, kind="label")
        table = saved.ask(number, words=words, suggest=suggest)
        column = "label" if words else "true_label"
        # A workbook offers the classes as a list, which prevents typing errors.
        choices = {column: [str(name) for name in saved.classes]}
        write_table(output, table, force=force, exact=exact, layout=Layout(choices))
    count = len(table[column])
    # Forecasts exist only for answers about documents.
    forecast = saved.forecast(table) if count and not words else None
    if as_json:
        known = {} if forecast is None else {"forecast": forecast._asdict()}
        print_json({"asked": count, "what": "words" if words else "documents", "output": output} | known)
    elif not quiet:
        what = "word" if words else "document"
        name = "FILE" if output == "-" else shlex.quote(output)
        given = f"{taught_files()} --words {name}" if words else f"{name} {taught_files()}"
        files = [] if output == "-" else [output]
        run = f"isthmus teach {shlex.quote(str(result))} {given}"
        filled = f"Fill in the column {column} of these {plural(count, what)}, then run {run}"
        lines = [str(forecast)] if forecast is not None else []
        say_outcome(lines if count else [f"No {what} is left to ask about."], files, filled if count else "")
