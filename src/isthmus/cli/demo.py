"""``isthmus demo``: label the bundled sample and compare with its true labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isthmus._streams import emit
from isthmus.cli.command import flag, shared
from isthmus.cli.common import describe, say, say_outcome, talking
from isthmus.cli.inputs import Inputs
from isthmus.cli.label_run import label_collections, label_record, write_outputs
from isthmus.cli.outputs import check_outputs, describe_input, write_record
from isthmus.cli.progress import plan_labelling
from isthmus.corpus.sample import load_sample
from isthmus.methods import get_method
from isthmus.options import LabelOptions
from isthmus.wording import interval, percent, why_this_method

EXAMPLE = "Example: isthmus demo --method cocc -o demo-output"


def demo(
    output: Annotated[Path, flag("-o --output FOLDER", "Folder for the files.")] = Path("demo-output"),
    method: Annotated[str, shared("method")] = "auto",
    seed: Annotated[int, shared("seed")] = 0,
    force: Annotated[bool, shared("force", "Replace files of an earlier run.")] = False,
) -> None:
    """Label the bundled sample (motorcycle dealer → car dealer) and write a report."""
    # Refuse an unknown method before anything is written.
    if method != "auto":
        get_method(method)
    output.mkdir(parents=True, exist_ok=True)
    table, page = output / "cars_labelled.csv", output / "report.html"
    request = LabelOptions(method=method, seed=seed, output=str(table), report=page, force=force)
    check_outputs(request.output, page, force)
    source, target, truth = load_sample()
    with talking(False) as line:
        describe(source, "source", False)
        describe(target, "target", False)
        line.expect(plan_labelling(request, source, target))
        result = label_collections(request, Inputs(source, target))
        written = write_outputs(request, result, source, target)
    inputs = [describe_input(docs.name, docs) for docs in (source, target)]
    options = {"method": method, "seed": seed, "output": str(table)}
    record = label_record(options, inputs, result, result.settings)
    written = write_record(str(table), record, written)
    from isthmus._math.samples import two_sided_z, wilson_ends
    from isthmus.evaluate import accuracy

    # Only the demonstration knows the true labels, so only it can report the accuracy itself.
    true_labels = [truth[number] for number in target.ids]
    right = accuracy(true_labels, result.labels)
    low, high = wilson_ends(right, len(true_labels), two_sided_z(0.95))
    say(f"method: {result.method} ({why_this_method(result.decision)})")
    emit(f"accuracy against the sample's true labels: {interval(right, low, high)}, on {len(true_labels)} documents")
    if result.expected_accuracy is not None:
        emit(f"expected beforehand, without true labels: {result.expected_accuracy}")
    # Users mainly rely on the labels that they do not review, so their accuracy is shown too.
    kept = ~result.needs_review
    if kept.any():
        sure = accuracy([name for name, keep in zip(true_labels, kept, strict=True) if keep], result.labels[kept])
        emit(f"of the {int(kept.sum())} labels that need no review: {percent(sure)} are right")
    step = f"Open {page}, then try your own files: isthmus label SOURCE TARGET -o labelled.csv --report report.html"
    say_outcome([], written, step)
