"""The bundled sample as a project, so that a newcomer has something to review."""

from __future__ import annotations

import io
from typing import Any

from isthmus.corpus.sample import sample_file

NAME = "Sample: two dealers' surveys"


def add_sample(workspace: Any, *, by: str, method: str = "auto") -> tuple[Any, Any]:
    """A project with the sample's two files and a run that waits for the worker: project and run."""
    project = workspace.projects.create(NAME, by=by)
    for name, kind, columns in (
        ("motorcycles.csv", "source", {"text": ["comment"], "label": "category", "id_column": "id"}),
        ("cars.csv", "target", {"text": ["comment"], "id_column": "id"}),
    ):
        docs = workspace.collections.add(project.id, name, io.BytesIO(sample_file(name)), kind=kind, by=by)
        workspace.collections.map(docs.id, by=by, inline=True, **columns)
    return project, workspace.runs.start(project.id, {"method": method}, by=by)


def find_sample(workspace: Any, person: str) -> Any | None:
    """The sample's project, if the person has it already."""
    return next((row for row in workspace.projects.list(person) if row.name == NAME), None)
