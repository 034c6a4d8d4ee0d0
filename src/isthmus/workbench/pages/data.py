"""Files come in: sending, looking, saying which column is what."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, File, Form, HTTPException, Request, Response, UploadFile

from isthmus.corpus.limits import unpacking_at_most
from isthmus.exceptions import IsthmusError
from isthmus.workbench.context import Access, Owner, Viewer, at, go
from isthmus.workbench.pages.frame import project_page

router = APIRouter(prefix="/projects/{project}/data", include_in_schema=False)


def find_collection(access: Access, collection: str) -> Any:
    """A collection of this project; one of another project is not there."""
    found = access.workspace.collections.get(collection)
    if found.project != access.project.id:
        raise HTTPException(404, "There is no such file here.")
    return found


def add_file(access: Access, file: UploadFile, kind: str) -> Any:
    """Keep a file that was sent and look at it, within the server's limits."""
    settings = access.bench.settings
    with unpacking_at_most(settings.max_unpacked):
        return access.workspace.collections.add(
            access.project.id, file.filename or "file", file.file, kind=kind, by=access.by, limit=settings.max_upload
        )


def map_file(access: Access, collection: str, **mapping: Any) -> Any:
    """Say which column is what, and read the documents, within the server's limits."""
    find_collection(access, collection)
    with unpacking_at_most(access.bench.settings.max_unpacked):
        return access.workspace.collections.map(collection, by=access.by, **mapping)


@router.get("")
def collections(request: Request, access: Viewer):
    """All files, and the form to send one."""
    rows = access.workspace.collections.list(access.project.id)
    return project_page(
        request,
        access,
        "data.html.j2",
        collections=rows,
        suggested="target" if any(row.kind == "source" for row in rows) else "source",
        limit=access.bench.settings.max_upload,
    )


@router.post("")
def send(request: Request, access: Owner, file: Annotated[UploadFile, File()], kind: Annotated[str, Form()] = "source"):
    """A file arrives."""
    added = add_file(access, file, kind)
    return go(request, at("projects", access.project.id, "data", added.id))


@router.get("/{collection}")
def collection(request: Request, access: Viewer, collection: str, sheet: str | None = None):
    """Preview, mapping and findings of a file."""
    return collection_page(request, access, collection, sheet=sheet)


def collection_page(request: Request, access: Access, id: str, *, sheet: str | None = None, trouble: str = ""):
    """The page of one file."""
    docs = find_collection(access, id)
    with unpacking_at_most(access.bench.settings.max_unpacked):
        preview = access.workspace.collections.preview(id, sheet=sheet)
    guesses = preview["guesses"]
    chosen = docs.mapping or {**guesses, "sheet": sheet}
    facts = docs.facts or {}
    classes = facts.get("classes") or {}
    most = max(classes.values(), default=1)
    findings = (facts or preview).get("findings") or []
    return project_page(
        request,
        access,
        "collection.html.j2",
        status=422 if trouble else 200,
        docs=docs,
        preview=preview,
        chosen=chosen,
        trouble=trouble or preview["problem"] if docs.state == "new" else trouble,
        reading=docs.state == "reading",
        findings=[row["message"] for row in findings],
        notes=facts.get("notes") or preview["notes"],
        labels=[
            {"label": label, "n": n, "share": n / most}
            for label, n in sorted(classes.items(), key=lambda row: (-row[1], row[0]))[:40]
        ],
        next_step=next_step(access),
    )


def next_step(access: Access) -> dict[str, str]:
    """Where to go once a file has been read."""
    kinds = {row.kind for row in access.workspace.collections.list(access.project.id) if row.state == "ready"}
    if {"source", "target"} <= kinds:
        return {"title": "Both sides are there: start a run.", "address": at("projects", access.project.id, "runs")}
    missing = "target" if "source" in kinds else "source"
    return {"title": f"Now send the {missing}.", "address": at("projects", access.project.id, "data")}


@router.get("/{collection}/reading")
def reading(request: Request, access: Viewer, collection: str):
    """Asked again and again while a file is read; loads the page when it is done."""
    if find_collection(access, collection).state == "reading":
        return Response(status_code=204)
    return Response(status_code=200, headers={"HX-Refresh": "true"})


@router.post("/{collection}/mapping")
def mapping(
    request: Request,
    access: Owner,
    collection: str,
    text: Annotated[list[str] | None, Form()] = None,
    label: Annotated[str, Form()] = "",
    id_column: Annotated[str, Form()] = "",
    sheet: Annotated[str, Form()] = "",
):
    """The columns are chosen."""
    try:
        map_file(
            access, collection, text=text or [], label=label or None, id_column=id_column or None, sheet=sheet or None
        )
    except IsthmusError as error:
        if error.code == "not-found":
            raise
        return collection_page(request, access, collection, trouble=str(error))
    return go(request, at("projects", access.project.id, "data", collection))


@router.post("/{collection}/remove")
def remove(request: Request, access: Owner, collection: str):
    """Take a file out of sight."""
    find_collection(access, collection)
    access.workspace.collections.remove(collection, by=access.by)
    return go(request, at("projects", access.project.id, "data"))
