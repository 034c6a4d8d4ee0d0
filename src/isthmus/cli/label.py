"""``isthmus label``: read labelled and unlabelled documents, write labels."""

from __future__ import annotations

from isthmus._streams import check_standard_output
from isthmus.cli.blocks import asks_for_blocks, in_blocks
from isthmus.cli.command import refuse, takes_options
from isthmus.cli.inputs import check_sheet
from isthmus.cli.label_run import can_be_large, label_files, label_large, label_with_model, questions_place
from isthmus.cli.outputs import check_outputs
from isthmus.features.languages import resolve_language
from isthmus.methods import get_method
from isthmus.options import LabelOptions
from isthmus.saving import check_saved_file

FILES = (
    "Labelled documents, one file or several, then the documents to label: csv, tsv, jsonl, parquet, xlsx, a folder, "
    "or -. One file alone: its labelled rows are the source, or the classes named by --class. With --model, TARGET "
    "alone."
)
EXAMPLE = "Example: isthmus label motorcycles.csv cars.csv -o labelled.csv --report report.html"


@takes_options(LabelOptions, "SOURCE... TARGET", FILES)
def label(request: LabelOptions) -> None:
    """Label the documents of TARGET with the labels of SOURCE, or by a saved model (--model FILE TARGET).

    Every column of TARGET is kept; label, confidence, needs_review, novel_group and review_reason are added. A run.json
    next to the output contains everything needed to repeat the run. In csv and tsv, cells that a spreadsheet would
    run as formulas get an apostrophe in front, unless --exact is given.
    """
    # A saved model labels in memory, however large the file is.
    large = request.model is None and (asks_for_blocks(request) or (can_be_large(request) and in_blocks(request)))
    check_request(request, large=large)
    if large:
        label_large(request)
    elif request.model is not None:
        label_with_model(request)
    else:
        label_files(request)


def check_request(request: LabelOptions, *, large: bool = False) -> None:
    """Raise an error if the options cannot work, before any file is read.

    Parameters
    ----------
    request : LabelOptions
        Options of the command.
    large : bool, default=False
        Whether the run reads in blocks.

    Raises
    ------
    UsageError
        If options do not fit each other.
    """
    request.check()
    # Refuse an unknown method before reading files.
    if request.method != "auto":
        get_method(request.method)
    # Imported only when needed: most runs use neither option, and refusals should be fast.
    if request.parameters:
        from isthmus.api.methods import check_typed

        check_typed(request.method, request.parameters)
    if request.classes or request.class_table:
        from isthmus.api.methods import check_takes_classes

        check_takes_classes(request.method)
    resolve_language(request.language)
    refuse(
        ("" in request.files, "A file name is empty; name SOURCE and TARGET."),
        (request.files.count("-") > 1, "Two files are '-'; only one can be standard input."),
    )
    if request.model is not None:
        _check_model(request)
    two_vectors = request.embed is not None and request.vectors is not None
    refuse(
        (two_vectors, "--embed makes vectors and --vectors names them; give one of them."),
        (bool(request.answers and request.target_label), "Give --answers or --target-label, not both."),
    )
    if request.as_json:
        check_standard_output()
    on_stdout = request.output == "-"
    refuse(
        (request.as_json and on_stdout, "--json prints on stdout; name a file for the labels with -o OUT."),
        (
            request.read is not None and on_stdout,
            "--read writes the questions next to the labels; name a file for these with -o OUT.",
        ),
    )
    # Runs in blocks check their own outputs, which may be folders.
    if not large:
        tables = request.words, request.class_table, request.answers
        inputs = (*request.files, *tables, request.model, *request.extra)
        questions = questions_place(request)
        check_outputs(request.output, request.report, request.force, request.save, questions, inputs=inputs)


def _check_model(request: LabelOptions) -> None:
    """Raise an error if an option would change how a saved model learns, because it does not learn again."""
    refuse((len(request.files) > 1, "--model needs no SOURCE; give one file: isthmus label --model FILE TARGET."))
    request.refuse_given("--model labels in memory and does not learn again", can="model")
    check_sheet(request.files, request.sheet)
    check_saved_file(str(request.model))
