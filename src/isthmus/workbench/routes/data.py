"""Files of a project: uploads, the choice of columns, documents, and answers of annotators without an account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, BinaryIO, Literal

from fastapi import APIRouter, File, Form, Response, UploadFile
from pydantic import Field

from isthmus.corpus.limits import unpacking_at_most
from isthmus.feedback.tables import read_votes
from isthmus.workbench.context import PROJECT, RUN, Access, After, Fields, Limit, Owner, Text, Viewer
from isthmus.workbench.render import at, project_page
from isthmus.workspace.schema import Collection, Document

api = APIRouter(prefix="/api", tags=["collections"])
pages = APIRouter(prefix="/projects/{project}/data", include_in_schema=False)
Upload = Annotated[UploadFile, File()]
Kind = Literal["source", "target", "extra"]
_CLASSES = 40  # classes of a source that its page shows


class Mapping(Fields):
    """Names of the columns with text, label and id."""

    text: Annotated[list[Text], Field(min_length=1, max_length=50)]
    label: Text | None = None
    id_column: Text | None = None
    sheet: Text | None = None


@contextmanager
def opened(access: Access, file: UploadFile) -> Iterator[tuple[str, BinaryIO, int]]:
    """Open an uploaded file within the limits of the server.

    Parameters
    ----------
    access : Access
        Access to the project.
    file : UploadFile
        The file.

    Yields
    ------
    tuple
        Name, content and largest size in bytes.
    """
    with unpacking_at_most(access.bench.settings.max_unpacked):
        yield file.filename or "file", file.file, access.bench.settings.max_upload


@api.get(PROJECT + "/collections")
def collections(access: Viewer) -> list[Collection]:
    """List the files of a project."""
    return access.workspace.collections.list(access.id)


@api.post(PROJECT + "/collections")
def add_collection(access: Owner, file: Upload, kind: Annotated[Kind, Form()]) -> Collection:
    """Upload a file."""
    with opened(access, file) as (name, content, limit):
        return access.workspace.collections.add(access.id, name, content, kind=kind, by=access.by, limit=limit)


@api.post(PROJECT + "/collections/pair")
def add_pair(access: Owner, source: Upload, target: Upload) -> list[Collection]:
    """Upload a source and a target."""
    return [add_collection(access, source, "source"), add_collection(access, target, "target")]


@api.get(PROJECT + "/collections/{collection}")
def collection(access: Viewer, collection: str) -> Collection:
    """Return a file."""
    return access.collection(collection)


@api.get(PROJECT + "/collections/{collection}/preview")
def preview(access: Viewer, collection: str) -> dict[str, Any]:
    """Return the columns and first rows of a file, guesses of their roles, and possible problems."""
    return access.workspace.collections.preview(access.collection(collection).id)


@api.post(PROJECT + "/collections/{collection}/mapping")
def map_collection(access: Owner, collection: str, body: Mapping) -> Collection:
    """Choose the columns of a file, and read its documents."""
    with unpacking_at_most(access.bench.settings.max_unpacked):
        return access.workspace.collections.map(access.collection(collection).id, by=access.by, **body.model_dump())


@api.delete(PROJECT + "/collections/{collection}")
def remove_collection(access: Owner, collection: str) -> dict[str, bool]:
    """Remove a file; its documents and answers stay stored."""
    access.workspace.collections.remove(access.collection(collection).id, by=access.by)
    return {"removed": True}


@api.get(PROJECT + "/collections/{collection}/documents")
def documents(access: Viewer, collection: str, after: After = None, limit: Limit = 50) -> list[Document]:
    """Return documents of a file, in the order of the file."""
    return access.workspace.documents.page(access.collection(collection).id, after=after, limit=limit)


@api.get(PROJECT + "/annotators", tags=["review"])
def annotators(access: Viewer) -> list[dict[str, Any]]:
    """List files of other annotators' answers."""
    rows = access.workspace.annotators.list(access.id)
    return [{"id": row.id, "name": row.name, "file": row.file, "answers": row.answers} for row in rows]


@api.post(RUN + "/annotators", tags=["review"])
def add_annotators(
    access: Owner,
    run: str,
    file: Upload,
    by: Annotated[str, Form(max_length=200, description="whose answers; the column by if omitted")] = "",
) -> list[dict[str, Any]]:
    """Upload answers of a language model, a rule or a person without an account; later runs learn them."""
    result = access.bench.model(access.run(run).id)
    with opened(access, file) as (name, content, limit):
        columns = access.workspace.collections.read_columns(name, content, limit=limit)
    # A named annotator gave all answers of the file; otherwise each row names its own.
    entries = read_votes(result, columns, by=by.strip())
    access.workspace.annotators.add(run, entries, file=name, by=access.by)
    return annotators(access)


@api.delete(PROJECT + "/annotators/{annotator}", tags=["review"])
def remove_annotator(access: Owner, annotator: str) -> list[dict[str, Any]]:
    """Remove the answers of one file."""
    found = access.own(access.workspace.annotators.get(annotator), "annotator")
    access.workspace.annotators.remove(found.id, by=access.by)
    return annotators(access)


# -- Pages


@pages.get("")
def data_page(access: Viewer):
    """Show the files of a project, with forms for uploads."""
    rows = collections(access)
    return project_page(
        access,
        "data",
        collections=rows,
        # The first file is usually the source, the second one the target.
        suggested="target" if any(row.kind == "source" for row in rows) else "source",
        limit=access.bench.settings.max_upload,
        run=access.workspace.runs.latest(access.id),
        annotators=annotators(access),
    )


@pages.get("/{collection}")
def collection_page(access: Viewer, collection: str, sheet: str | None = None):
    """Show a file: its columns, its first rows, and possible problems."""
    docs = access.collection(collection)
    chosen, facts = docs.mapping, docs.facts or {}
    with unpacking_at_most(access.bench.settings.max_unpacked):
        preview = access.workspace.collections.preview(docs.id, sheet=sheet or (chosen or {}).get("sheet"))
    # Another sheet has other columns, so start from their guesses.
    if chosen is None or (sheet is not None and sheet != chosen["sheet"]):
        chosen = preview["guesses"]
    classes = sorted((facts.get("classes") or {}).items(), key=lambda row: (-row[1], row[0]))
    return project_page(
        access,
        "collection",
        docs=docs,
        preview=preview,
        chosen=chosen,
        problem=preview["problem"] if docs.state == "new" else "",
        findings=[row["message"] for row in (facts or preview).get("findings") or []],
        notes=facts.get("notes") or preview["notes"],
        # The largest class has the longest bar.
        labels=[{"label": label, "n": n, "share": n / classes[0][1]} for label, n in classes[:_CLASSES]],
        next_step=next_step(access),
    )


def next_step(access: Access) -> dict[str, str]:
    """Return where to continue after a file has been read.

    Parameters
    ----------
    access : Access
        Access to the project.

    Returns
    -------
    dict[str, str]
        ``title`` and ``address``.
    """
    rows = collections(access)
    kinds = {row.kind for row in rows if row.state == "ready"}
    if {"source", "target"} <= kinds:
        return {"title": "Both files are ready: start a run.", "address": at("projects", access.id, "runs")}
    missing = "target" if "source" in kinds else "source"
    waiting = next((row for row in rows if row.state == "new" and row.kind == missing), None)
    if waiting is not None:
        address = at("projects", access.id, "data", waiting.id)
        return {"title": f"Next, choose the columns of {waiting.name}.", "address": address}
    others = "" if missing == "target" else " Without labelled texts, start a run and name the classes."
    return {"title": f"Next, upload the {missing}.{others}", "address": at("projects", access.id, "data")}


@pages.get("/{collection}/reading")
def reading(access: Viewer, collection: str):
    """Report whether the worker still reads a file; htmx changes nothing on the page after the status 204."""
    is_reading = access.collection(collection).state == "reading"
    return Response(status_code=204) if is_reading else Response(headers={"HX-Refresh": "true"})
