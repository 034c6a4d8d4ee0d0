"""Pages for uploading files, previewing them and mapping their columns."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, Form, Response, UploadFile

from isthmus.corpus.limits import unpacking_at_most
from isthmus.exceptions import IsthmusError
from isthmus.workbench import api
from isthmus.workbench.context import Access, Field, Owner, Viewer, at, go_to
from isthmus.workbench.pages import project_page
from isthmus.workbench.service import find_collection, map_file

router = APIRouter(prefix="/projects/{project}/data", include_in_schema=False)


@router.get("")
def collections(access: Viewer):
    """Show the files of the project."""
    rows = access.workspace.collections.list(access.project.id)
    return project_page(
        access,
        "data",
        collections=rows,
        # The first file is usually the source, the second one the target.
        suggested="target" if any(row.kind == "source" for row in rows) else "source",
        limit=access.bench.settings.max_upload,
        run=access.workspace.runs.latest(access.project.id),
        hands=api.list_hands(access),
    )


@router.post("")
def send(access: Owner, file: Annotated[UploadFile, File()], kind: Annotated[str, Form()] = "source"):
    """Upload one file."""
    added = api.add_collection(access, file, kind)  # type: ignore[arg-type]  # another kind is refused there
    return go_to(access, "data", added.id)


@router.post("/pair")
def send_pair(access: Owner, source: Annotated[UploadFile, File()], target: Annotated[UploadFile, File()]):
    """Upload a source and a target."""
    first = api.add_collection(access, source, "source")
    api.add_collection(access, target, "target")
    return go_to(access, "data", first.id)


@router.post("/hands")
def send_hands(access: Owner, file: Annotated[UploadFile, File()], run: Field = "", by: Field = ""):
    """Upload the answers of another annotator."""
    api.add_hands(access, run, file, by)
    return go_to(access, "data")


@router.post("/hands/{hand}/remove")
def take_back_hand(access: Owner, hand: str):
    """Remove the answers of another annotator."""
    api.remove_hand(access, hand)
    return go_to(access, "data")


@router.get("/{collection}")
def collection(access: Viewer, collection: str, sheet: str | None = None):
    """Show a file with its columns."""
    return collection_page(access, collection, sheet=sheet)


def collection_page(access: Access, id: str, *, sheet: str | None = None, trouble: str = ""):
    """Show a file with its columns and, after an error, a sentence about it.

    Parameters
    ----------
    access : Access
        The project and the person.
    id : str
        Id of the collection.
    sheet : str, optional
        Name of the worksheet to preview.
    trouble : str, default=""
        Sentence about an error.

    Returns
    -------
    HTMLResponse
        The page.
    """
    docs = find_collection(access, id)
    chosen = docs.mapping
    with unpacking_at_most(access.bench.settings.max_unpacked):
        preview = access.workspace.collections.preview(id, sheet=sheet or (chosen or {}).get("sheet"))
    # Another sheet has other columns, so start from their guesses.
    if chosen is None or (sheet is not None and sheet != chosen["sheet"]):
        chosen = preview["guesses"]
    facts = docs.facts or {}
    classes = facts.get("classes") or {}
    # The largest class has the longest bar.
    most = max(classes.values(), default=1)
    findings = (facts or preview).get("findings") or []
    return project_page(
        access,
        "collection",
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
    """Return what to do after a file has been read.

    Parameters
    ----------
    access : Access
        The project.

    Returns
    -------
    dict[str, str]
        ``title`` and ``address`` of the next step.
    """
    rows = access.workspace.collections.list(access.project.id)
    kinds = {row.kind for row in rows if row.state == "ready"}
    if {"source", "target"} <= kinds:
        return {"title": "Both files are ready: start a run.", "address": at("projects", access.project.id, "runs")}
    missing = "target" if "source" in kinds else "source"
    waiting = next((row for row in rows if row.state == "new" and row.kind == missing), None)
    if waiting is not None:
        address = at("projects", access.project.id, "data", waiting.id)
        return {"title": f"Next, choose the columns of {waiting.name}.", "address": address}
    others = "" if missing == "target" else " Without labelled texts, start a run and name the classes."
    return {"title": f"Next, upload the {missing}.{others}", "address": at("projects", access.project.id, "data")}


@router.get("/{collection}/reading")
def reading(access: Viewer, collection: str):
    """Reload the page when the file has been read; the page requests this repeatedly."""
    if find_collection(access, collection).state == "reading":
        # htmx changes nothing on the page after this status.
        return Response(status_code=204)
    return Response(status_code=200, headers={"HX-Refresh": "true"})


@router.post("/{collection}/mapping")
def mapping(
    access: Owner,
    collection: str,
    text: Annotated[list[str] | None, Form()] = None,
    label: Annotated[str, Form()] = "",
    id_column: Annotated[str, Form()] = "",
    sheet: Annotated[str, Form()] = "",
):
    """Map the columns and read the documents."""
    try:
        map_file(
            access, collection, text=text or [], label=label or None, id_column=id_column or None, sheet=sheet or None
        )
    except IsthmusError as error:
        # A missing file is a missing page; other errors are shown on this page.
        if error.code == "not-found":
            raise
        return collection_page(access, collection, trouble=str(error))
    return go_to(access, "data", collection)


@router.post("/{collection}/remove")
def remove(access: Owner, collection: str):
    """Remove a file."""
    api.remove_collection(access, collection)
    return go_to(access, "data")
