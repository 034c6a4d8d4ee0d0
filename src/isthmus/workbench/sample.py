"""The bundled sample as a project, so that new users have something to review."""

from __future__ import annotations

import io
from typing import Any

from isthmus.corpus.sample import sample_file
from isthmus.workspace.schema import Project, Run

NAME = "Sample: two dealers' surveys"


def add_sample(workspace: Any, *, by: str, method: str = "auto") -> tuple[Project, Run]:
    """Create the sample project and start its run.

    Parameters
    ----------
    workspace : Workspace
        Open workspace.
    by : str
        Id of the owner.
    method : str, default="auto"
        Method of the run.

    Returns
    -------
    tuple[Project, Run]
        The project and the run.
    """
    project = workspace.projects.create(NAME, by=by)
    for name, kind, columns in (
        ("motorcycles.csv", "source", {"text": ["comment"], "label": "category", "id_column": "id"}),
        ("cars.csv", "target", {"text": ["comment"], "id_column": "id"}),
    ):
        docs = workspace.collections.add(project.id, name, io.BytesIO(sample_file(name)), kind=kind, by=by)
        workspace.collections.map(docs.id, by=by, inline=True, **columns)
    return project, workspace.runs.start(project.id, {"method": method}, by=by)
