"""``isthmus label`` on files larger than memory, on one machine or on a cluster."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

from isthmus.cli.blocks import NOT_IN_MEMORY, block_settings, check_blocks, files_written, resumable
from isthmus.cli.common import note_guarded, say, talking
from isthmus.cli.inputs import check_not_machine, warn_of_own_target, warn_of_same_file
from isthmus.cli.label_run import expectation_record, finish, label_record, share_records
from isthmus.request import LabelRequest, in_flags


def can_be_large(request: LabelRequest) -> bool:
    """Whether runs in blocks know the method."""
    from isthmus.scale import METHODS

    return request.method in (*METHODS, "auto")


def label_large(request: LabelRequest) -> None:
    """Label in blocks; memory grows with the vocabulary, not with the files."""
    from isthmus.corpus.shards import find_shards, open_shard
    from isthmus.scale import label_files

    check_blocks(request)
    for path in find_shards(request.files[:-1]):
        check_not_machine(path, open_shard(path).columns, request)
    if not request.quiet:
        say(NOT_IN_MEMORY)
    with talking(request.quiet), resumable():
        warn_of_same_file(request.files[:-1])
        warn_of_own_target(request.files)
        result = label_files(
            request.files[:-1],
            request.target,
            request.output,
            method=request.method,
            bad_rows=request.bad_rows,
            error_budget=request.budget,
            force_classes=request.force_classes,
            **block_settings(request),
        )
        note_guarded(result.guarded_cells)
    if not request.quiet:
        for note in result.notes:
            say(f"  {in_flags(note)}")
        if result.bad_rows:
            say(f"set aside: {result.bad_rows:,} rows that cannot be read, in {request.bad_rows}")
    summary: dict[str, Any] = {
        **{name: value for name, value in asdict(result).items() if name not in ("files", "expected_accuracy")},
        "class_shares": share_records(result.class_shares),
        "why": result.decision[0]["why"] if result.decision else "",
        "expected_accuracy": expectation_record(result.expected_accuracy),
        "output": request.output,
    }
    inputs = [{"path": path} for path in request.files]
    record = label_record(request.for_record(), inputs, {"blocks": True}, result.method, result.decision)
    record |= {name: summary[name] for name in ("expected_accuracy", "class_shares", "novel", "warnings", "bad_rows")}
    written = files_written(request.output, result.files)
    step = f"Check 100 at random: isthmus check {shlex.quote(written[0])} --sample 100 -o to_check.csv"
    finish(request, summary, record | {"files": result.files}, written, next_step=step)
