"""The JSON interface: every action of the pages, for scripts. ``/api/openapi.json`` describes it.

Some pages call these functions too. A script first requests ``/api/session`` (if the server has accounts, it posts a
name and a password there). It stores the cookie and sends the returned token in the header ``X-CSRF-Token`` with
every change.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, Form, HTTPException, Query, Request, Response, UploadFile
from pydantic import BaseModel, ConfigDict, Field, create_model

from isthmus.corpus.limits import unpacking_at_most
from isthmus.feedback.tables import read_votes
from isthmus.options import LabelOptions, Option
from isthmus.workbench import service
from isthmus.workbench.context import BenchNow, Owner, Person, Reviewer, Viewer, WorkspaceOwner, get_bench
from isthmus.workbench.service import answer_sample, find_check, find_collection, find_run
from isthmus.workspace import schema

router = APIRouter(prefix="/api")
# Beginnings of addresses.
PROJECT, RUN = "/projects/{project}", "/projects/{project}/runs/{run}"
# Limits of fields in characters; the workspace checks names again.
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=2_000)]
After = Annotated[int | None, Query(ge=-1, lt=2**31, description="the last number of the page before")]
Limit = Annotated[int, Query(ge=1, le=500)]
Clusters = Annotated[int | None, Query(ge=2, le=20, description="how many groups; by their number if omitted")]
Role = Literal["viewer", "reviewer", "owner"]


# -- Bodies of requests and answers. Their docstrings appear in /api/openapi.json.
class Body(BaseModel):
    """Base class of request bodies; unknown fields are refused."""

    # A misspelt field would otherwise be ignored without a message.
    model_config = ConfigDict(extra="forbid")


class Named(Body):
    """A name."""

    name: Name


class ProjectBody(Body):
    """Changes of a project; omitted fields stay unchanged."""

    name: Name | None = None
    second_reading: Annotated[float, Field(ge=0, le=1)] | None = None
    archived: bool | None = None


class SignInBody(Body):
    """Name and password of somebody who signs in."""

    name: Text
    password: Text


class SessionOut(BaseModel):
    """The signed-in person, and the token for changes."""

    person: str | None = None
    name: str | None = None
    role: str | None = None
    csrf: str


class PersonOut(BaseModel):
    """An account."""

    id: str
    name: str
    role: str
    disabled: bool


class Invitation(Body):
    """Role and project of a new invitation."""

    role: Role
    project: Text | None = None


class PersonBody(Body):
    """Changes of an account: its role, and whether it is closed."""

    role: Role | None = None
    disabled: bool | None = None
    hand_over_to: Text | None = None


class NewPassword(Body):
    """A new password, for somebody with a link."""

    password: Text


class OwnPassword(NewPassword):
    """The present and the new password of the signed-in person."""

    old: Text


class MemberBody(Body):
    """A new member of a project."""

    person: Text
    role: Role


class Mapping(Body):
    """Names of the columns with text, label and id."""

    text: Annotated[list[Text], Field(min_length=1, max_length=50)]
    label: Text | None = None
    id_column: Text | None = None
    sheet: Text | None = None


class SubtopicNames(Body):
    """Names of the subtopics that become classes, by number."""

    within: Text
    clusters: Annotated[int, Field(ge=2, le=20)] | None = None
    names: Annotated[dict[str, Name], Field(min_length=1, max_length=20)]


class TextsBody(Body):
    """Texts to label with a finished run."""

    run: Text
    texts: Annotated[list[Annotated[str, Field(max_length=20_000)]], Field(min_length=1, max_length=100)]


class LabelledText(BaseModel):
    """The label of one text, its confidence, and whether it needs review."""

    label: str
    confidence: float
    needs_review: bool
    review_reason: str
    novel_group: str


class LabelledTexts(BaseModel):
    """Labels of texts, in the order of the texts."""

    run: str
    project: str
    labels: list[LabelledText]


MOST_VALUES = 200  # most values of an option that takes several


def _field(spec: Option) -> Any:
    """Return an option of a run as a field of a request body."""
    if spec.many:
        return (Annotated[list[Text], Field(max_length=MOST_VALUES, description=spec.help)], spec.start)
    if spec.kind is str:
        return (Text, spec.start)
    # Limits and description come from the request, so that command and server agree.
    limits = Field(ge=spec.low, le=spec.high, description=spec.help)
    return (Annotated[spec.kind, limits], spec.start)


RunOptions: Any = create_model("RunOptions", __base__=Body, **{spec.key: _field(spec) for spec in LabelOptions.form()})


class RunBody(RunOptions):
    """Options of a new run; omitted ones are chosen automatically."""

    sources: Annotated[list[Text], Field(max_length=100)] | None = None
    target: Text | None = None
    extras: Annotated[list[Text], Field(max_length=100)] | None = None
    use_answers: bool = True
    use_words: bool = True
    vectors: bool = True
    name: Annotated[str, Field(max_length=200)] = ""


class Count(Body):
    """Number of documents."""

    n: Annotated[int, Field(ge=1, le=50)] = 1


class DocumentBody(Body):
    """Id of a document."""

    document: Text


class AnswerBody(Body):
    """An answer for a document. A repeated request with the same token (new for each answer) adds nothing."""

    document: Text
    label: Name
    token: Annotated[str, Field(min_length=1, max_length=64)] | None = None


class WordBody(Body):
    """A word and its class."""

    word: Name
    label: Name


class GroupName(Body):
    """A group and its new name, or the class that it becomes."""

    group: Name
    name: Name


class GroupMerge(Body):
    """A group and the group into which it is merged."""

    group: Name
    into: Name


class SampleBody(Body):
    """Size of a random sample; with a threshold, the sample contains only labels with at least this confidence."""

    size: Annotated[int, Field(ge=1, le=10_000)] = 100
    threshold: Annotated[float, Field(gt=0, le=1)] | None = None


class ExportBody(Body):
    """Run, kind and format of an export."""

    run: Text
    kind: Text = "labels"
    format: Text = "csv"
    add: list[Text] = []


# ---- Sessions and accounts


@router.get("/session", tags=["session"])
def session(request: Request, bench: BenchNow) -> SessionOut:
    """Return the signed-in person, and the token that every change must carry in the header X-CSRF-Token."""
    person = request.state.person
    # Without a session the token is still needed, to sign in.
    known = {"person": person.id, "name": person.name, "role": person.role} if person else {}
    return SessionOut(**known, csrf=bench.cookies.csrf(request.state.session))


@router.post("/session", tags=["session"])
def sign_in(request: Request, response: Response, bench: BenchNow, body: SignInBody) -> SessionOut:
    """Sign in; this creates a new cookie and a new token."""
    # Without accounts there is nobody to sign in as.
    service.require_accounts(bench)
    person = service.sign_in_person(request, body.name, body.password)
    if person is None:
        raise HTTPException(401, "The name or the password is wrong.")
    return enter(request, response, person)


def enter(request: Request, response: Response, person: Any) -> SessionOut:
    """Start a session for a person.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    response : Response
        Response that gets the cookie.
    person : Any
        The person.

    Returns
    -------
    SessionOut
        The new session.
    """
    service.start_session(request, response, person)
    return session(request, get_bench(request))


@router.delete("/session", tags=["session"])
def sign_out(request: Request, response: Response, person: Person, everywhere: bool = False) -> dict[str, bool]:
    """End this session, or every session of this person."""
    service.end_session(request, response, everywhere=everywhere)
    return {"signed_out": True}


@router.get("/people", tags=["people"], response_model=list[PersonOut])
def people(bench: BenchNow, person: WorkspaceOwner) -> Any:
    """List the accounts."""
    return bench.workspace.people.list()


@router.post("/people/invitations", tags=["people"])
def invite(bench: BenchNow, person: WorkspaceOwner, body: Invitation) -> dict[str, str]:
    """Create a token for one new account, to be used at /join/TOKEN."""
    # The page builds a link from the token; a script gets the token itself.
    return {"token": service.invite(bench, person, body.role, body.project)}


@router.patch("/people/{other}", tags=["people"], response_model=PersonOut)
def change_person(bench: BenchNow, person: WorkspaceOwner, other: str, body: PersonBody) -> Any:
    """Change a role, close an account or open it again."""
    found = bench.workspace.people.get(other)
    if body.role is not None:
        found = service.set_role(bench, person, other, body.role)
    # None leaves the account unchanged, False opens it.
    if body.disabled is False:
        found = bench.workspace.people.enable(other, by=person.id)
    if body.disabled:
        found = close_account(bench, person, other, body.hand_over_to)
    return found


@router.delete("/people/{other}", tags=["people"], response_model=PersonOut)
def close_account(
    bench: BenchNow,
    person: WorkspaceOwner,
    other: str,
    hand_over_to: Annotated[
        str | None, Query(max_length=200, description="who gets projects without another owner")
    ] = None,
) -> Any:
    """Close an account; the person's decisions stay."""
    service.refuse_self(person.id, other)
    return bench.workspace.people.disable(other, by=person.id, hand_over_to=hand_over_to or None)


@router.post("/people/{other}/password-link", tags=["people"])
def password_link(bench: BenchNow, person: WorkspaceOwner, other: str) -> dict[str, str]:
    """Create a token for setting a new password at /password/TOKEN; it works once, within a day."""
    return {"token": service.make_password_link(bench, person, other)[1]}


@router.post("/password/{token}", tags=["session"])
def set_password(request: Request, response: Response, bench: BenchNow, token: str, body: NewPassword) -> SessionOut:
    """Set a new password by a token, and sign in."""
    # The token replaces a signed-in session, so this address needs none.
    person = service.use_password_link(request, token, body.password)
    return enter(request, response, person)


@router.post("/password", tags=["session"])
def change_password(
    request: Request, response: Response, bench: BenchNow, person: Person, body: OwnPassword
) -> SessionOut:
    """Change your own password; all your other sessions end."""
    changed = service.change_own_password(request, person, body.old, body.password)
    return enter(request, response, changed)


# ---- projects


@router.get("/projects", tags=["projects"])
def list_projects(bench: BenchNow, person: Person, archived: bool = False) -> list[schema.Project]:
    """List your projects, and archived ones on request."""
    return bench.projects_of(person, archived=archived)


@router.post("/projects", tags=["projects"])
def create_project(bench: BenchNow, person: Person, body: Named) -> schema.Project:
    """Create a project."""
    service.require_creator(bench, person)
    return bench.workspace.projects.create(body.name, by=person.id)


@router.get(PROJECT, tags=["projects"])
def get_project(access: Viewer) -> schema.Project:
    """Return a project."""
    return access.project


@router.patch(PROJECT, tags=["projects"])
def change_project(access: Owner, body: ProjectBody) -> schema.Project:
    """Rename or archive a project, or set the share of documents that two people read."""
    found, projects = access.project, access.workspace.projects
    if body.name is not None:
        found = projects.rename(access.project.id, body.name, by=access.by)
    if body.second_reading is not None:
        found = projects.set_second_reading(access.project.id, body.second_reading, by=access.by)
    if body.archived is not None:
        found = projects.archive(access.project.id, by=access.by, archived=body.archived)
    return found


# Deleting a project only archives it, because answers must stay traceable.
@router.delete(PROJECT, tags=["projects"])
def archive_project(access: Owner) -> schema.Project:
    """Archive a project; nothing is lost, and ``{"archived": false}`` restores it."""
    return access.workspace.projects.archive(access.project.id, by=access.by)


@router.get(PROJECT + "/members", tags=["projects"])
def members(access: Viewer) -> list[schema.Member]:
    """List the members of a project."""
    return access.workspace.projects.members(access.project.id)


@router.post(PROJECT + "/members", tags=["projects"])
def add_member(access: Owner, body: MemberBody) -> list[schema.Member]:
    """Add a person to a project."""
    access.workspace.projects.add_member(access.project.id, body.person, body.role, by=access.by)
    return members(access)


@router.delete(PROJECT + "/members/{other}", tags=["projects"])
def remove_member(access: Owner, other: str) -> list[schema.Member]:
    """Remove a person from a project."""
    service.refuse_self(access.by, other)
    access.workspace.projects.remove_member(access.project.id, other, by=access.by)
    return members(access)


@router.get(PROJECT + "/events", tags=["projects"])
def events(access: Viewer, after: After = None, limit: Limit = 100) -> list[schema.Event]:
    """List the audit log, oldest event first."""
    return access.workspace.audit.events(access.project.id, after=after, limit=limit)


# ---- collections


@router.get(PROJECT + "/collections", tags=["collections"])
def list_collections(access: Viewer) -> list[schema.Collection]:
    """List the files of a project."""
    return access.workspace.collections.list(access.project.id)


@router.post(PROJECT + "/collections", tags=["collections"])
def add_collection(
    access: Owner, file: Annotated[UploadFile, File()], kind: Annotated[Literal["source", "target", "extra"], Form()]
) -> schema.Collection:
    """Upload a file."""
    settings = access.bench.settings
    with unpacking_at_most(settings.max_unpacked):
        return access.workspace.collections.add(
            access.project.id, file.filename or "file", file.file, kind=kind, by=access.by, limit=settings.max_upload
        )


@router.get(PROJECT + "/collections/{collection}", tags=["collections"])
def get_collection(access: Viewer, collection: str) -> schema.Collection:
    """Return a file's record."""
    return find_collection(access, collection)


@router.get(PROJECT + "/collections/{collection}/preview", tags=["collections"])
def preview(access: Viewer, collection: str) -> dict[str, Any]:
    """Return the columns, first rows, guesses and findings of a file."""
    return access.workspace.collections.preview(find_collection(access, collection).id)


@router.post(PROJECT + "/collections/{collection}/mapping", tags=["collections"])
def map_collection(access: Owner, collection: str, body: Mapping) -> schema.Collection:
    """Map the columns of a file, and read its documents."""
    return service.map_file(access, collection, **body.model_dump())


@router.delete(PROJECT + "/collections/{collection}", tags=["collections"])
def remove_collection(access: Owner, collection: str) -> dict[str, bool]:
    """Remove a file; its documents and answers stay stored."""
    access.workspace.collections.remove(find_collection(access, collection).id, by=access.by)
    return {"removed": True}


@router.get(PROJECT + "/collections/{collection}/documents", tags=["collections"])
def documents(access: Viewer, collection: str, after: After = None, limit: Limit = 50) -> list[schema.Document]:
    """List the documents of a file by position."""
    found = find_collection(access, collection)
    return access.workspace.documents.page(found.id, after=after, limit=limit)


# ---- runs


@router.get(PROJECT + "/runs", tags=["runs"])
def list_runs(access: Viewer, kind: Literal["label", "diagnose"] = "label") -> list[schema.Run]:
    """List the runs, latest first."""
    return access.workspace.runs.list(access.project.id, kind=kind)


@router.post(PROJECT + "/runs", tags=["runs"])
def start_run(access: Owner, body: RunBody) -> schema.Run:
    """Start a run; request it repeatedly until its state is done."""
    # None means that the run should choose, so such options are left out.
    parameters = {key: value for key, value in body.model_dump().items() if value is not None and key != "name"}
    return access.workspace.runs.start(access.project.id, parameters, by=access.by, name=body.name)


@router.post(PROJECT + "/diagnoses", tags=["runs"])
def start_diagnosis(access: Owner) -> schema.Run:
    """Start a diagnosis of the differences between the two collections."""
    return access.workspace.runs.start(access.project.id, by=access.by, kind="diagnose")


@router.get(RUN, tags=["runs"])
def get_run(access: Viewer, run: str) -> schema.Run:
    """Return a run."""
    return find_run(access, run)


@router.patch(RUN, tags=["runs"])
def rename_run(access: Owner, run: str, body: Named) -> schema.Run:
    """Rename a run."""
    return access.workspace.runs.rename(find_run(access, run).id, body.name, by=access.by)


@router.post(RUN + "/teach", tags=["runs"])
def teach(access: Reviewer, run: str) -> schema.Run:
    """Start a run that learns from every answer so far."""
    return access.workspace.runs.teach(find_run(access, run).id, by=access.by)


@router.get(RUN + "/job", tags=["runs"])
def get_job(access: Viewer, run: str) -> schema.Job:
    """Return the progress of a run."""
    return access.workspace.runs.job(find_run(access, run).id)


@router.post(RUN + "/cancel", tags=["runs"])
def cancel(access: Owner, run: str) -> schema.Job:
    """Cancel a run."""
    # People know runs, so the addresses of jobs name the run.
    return access.workspace.jobs.cancel(get_job(access, run).id, by=access.by)


@router.post(RUN + "/resume", tags=["runs"])
def resume(access: Owner, run: str) -> schema.Job:
    """Continue a stopped run."""
    return access.workspace.jobs.resume(get_job(access, run).id, by=access.by)


@router.get(RUN + "/tables/{table}", tags=["runs"])
def get_table(access: Viewer, run: str, table: str) -> Any:
    """Return a table of the report, such as ``hero``, cards, curve, bins, map, groups, moved, shift or decision."""
    found = access.workspace.runs.table(find_run(access, run).id, table)
    if found is None:
        raise HTTPException(404, "The run has no such table.")
    return found


@router.get(RUN + "/predictions", tags=["runs"])
def predictions(
    access: Viewer,
    run: str,
    after: After = None,
    limit: Limit = 50,
    label: Annotated[str | None, Query(max_length=200)] = None,
    review: bool | None = None,
    search: Annotated[str | None, Query(max_length=200)] = None,
    order: Literal["position", "confidence"] = "position",
) -> list[schema.Prediction]:
    """List one page of a run's labels."""
    return access.workspace.runs.predictions(
        find_run(access, run).id, after=after, limit=limit, label=label, review=review, search=search, order=order
    )


@router.post("/label", tags=["runs"])
def label_texts(bench: BenchNow, person: Person, body: TextsBody) -> LabelledTexts:
    """Label texts with a finished run, without storing them.

    This needs the role reviewer in the run's project. The first call loads the saved model; later ones take
    milliseconds.
    """
    # The address names no project, so the role is checked in the run's project.
    access = service.enter_run(bench, person, body.run)
    columns = service.saved_result(bench, body.run).label_new(body.texts).columns()
    names = LabelledText.model_fields
    rows = zip(*(columns[name] for name in names), strict=True)
    labels = [LabelledText(**dict(zip(names, row, strict=True)) | {"label": str(row[0])}) for row in rows]
    return LabelledTexts(run=body.run, project=access.id, labels=labels)


@router.get(PROJECT + "/compare", tags=["runs"])
def compare_runs(access: Viewer, a: str, b: str) -> dict[str, Any]:
    """Count the labels that changed between two runs."""
    return access.workspace.compare.of(find_run(access, a).id, find_run(access, b).id)


@router.get(PROJECT + "/compare/flips", tags=["runs"])
def flips(
    access: Viewer,
    a: str,
    b: str,
    before: Annotated[str | None, Query(max_length=200)] = None,
    towards: Annotated[str | None, Query(max_length=200)] = None,
    after: After = None,
    limit: Limit = 50,
) -> list[dict[str, Any]]:
    """List the documents whose label changed, by position."""
    # Both runs must belong to this project.
    first, second = find_run(access, a), find_run(access, b)
    return access.workspace.compare.flips(first.id, second.id, old=before, new=towards, after=after, limit=limit)


@router.get(RUN + "/forecast", tags=["runs"])
def forecast(access: Viewer, run: str, read: Annotated[int, Query(ge=1, le=2_000)] = 50) -> dict[str, Any] | None:
    """Forecast the effect of more answers: documents to review now and then, and the share of right labels then.

    The result is null if the run has no expected accuracy.
    """
    return service.forecast(access, find_run(access, run), read)


# ---- review


@router.post(RUN + "/queue", tags=["review"])
def next_documents(access: Reviewer, run: str, body: Count) -> list[schema.Prediction]:
    """Lease the next documents to read for ten minutes."""
    return access.workspace.queue.next(find_run(access, run).id, access.by, body.n)


@router.post(RUN + "/queue/skip", tags=["review"])
def skip(access: Reviewer, run: str, body: DocumentBody) -> dict[str, int]:
    """Move a document to the end of the queue."""
    return {"skipped": access.workspace.queue.skip(find_run(access, run).id, access.by, body.document)}


@router.delete(RUN + "/queue", tags=["review"])
def release(access: Reviewer, run: str) -> dict[str, int]:
    """Release all documents that you have leased."""
    return {"released": access.workspace.queue.release(find_run(access, run).id, access.by)}


@router.get(RUN + "/queue", tags=["review"])
def queue_counts(access: Viewer, run: str) -> dict[str, int]:
    """Count the documents by their state in the queue."""
    return access.workspace.queue.counts(find_run(access, run).id)


@router.post(RUN + "/answers", tags=["review"])
def answer(access: Reviewer, run: str, body: AnswerBody) -> schema.Answer:
    """Record an answer for a document."""
    return service.give_answer(access, run, body.document, body.label, body.token)


@router.get(PROJECT + "/answers", tags=["review"])
def answers(access: Viewer, after: After = None, limit: Limit = 100) -> list[schema.Answer]:
    """List all answers, including undone ones."""
    return access.workspace.answers.list(access.project.id, after=after, limit=limit)


@router.post(PROJECT + "/answers/undo", tags=["review"])
def undo(access: Reviewer) -> list[schema.Answer]:
    """Undo your latest answer."""
    taken = access.workspace.answers.undo(by=access.by, project=access.project.id)
    # Undone answers change the numbers above the queue.
    if taken:
        access.bench.tallies.clear()
    return taken


@router.get(PROJECT + "/hands", tags=["review"])
def list_hands(access: Viewer) -> list[dict[str, Any]]:
    """List files of other annotators' answers."""
    return [
        {"id": row.id, "hand": row.name, "file": row.file, "answers": row.answers}
        for row in access.workspace.hands.list(access.project.id)
    ]


@router.post(RUN + "/hands", tags=["review"])
def add_hands(
    access: Owner,
    run: str,
    file: Annotated[UploadFile, File()],
    by: Annotated[str, Form(max_length=200, description="whose answers; the column by if omitted")] = "",
) -> list[dict[str, Any]]:
    """Upload another annotator's answers for the documents of a run; later runs learn them."""
    settings, name = access.bench.settings, file.filename or "file"
    result = service.saved_result(access.bench, find_run(access, run).id)
    with unpacking_at_most(settings.max_unpacked):
        columns = access.workspace.collections.read_columns(name, file.file, limit=settings.max_upload)
    # A named annotator gave all answers of the file; otherwise each row names its own.
    entries = read_votes(result, columns, by=by.strip())
    access.workspace.hands.add(run, entries, file=name, by=access.by)
    return list_hands(access)


@router.delete(PROJECT + "/hands/{hand}", tags=["review"])
def remove_hand(access: Owner, hand: str) -> list[dict[str, Any]]:
    """Remove a file of another annotator's answers."""
    # The id comes from the client and may belong to another project.
    found = service.require_own(access, access.workspace.hands.get(hand), "hand")
    access.workspace.hands.remove(found.id, by=access.by)
    return list_hands(access)


@router.get(PROJECT + "/agreement", tags=["review"])
def agreement(access: Viewer) -> dict[str, Any]:
    """Return how far people agree on documents that two of them answered."""
    return access.workspace.answers.agreement(access.project.id)


# ---- words and groups


@router.get(PROJECT + "/words", tags=["words"])
def list_words(access: Viewer) -> list[schema.Word]:
    """List the words that have a class."""
    return access.workspace.words.list(access.project.id)


@router.get(PROJECT + "/words/search", tags=["words"])
def search_words(access: Viewer, q: Annotated[str, Query(max_length=200)] = "", limit: Limit = 30) -> list[Any]:
    """List the target's most frequent words with a given beginning."""
    return access.workspace.words.search(access.project.id, q, limit=limit)


@router.get(PROJECT + "/words/touches", tags=["words"])
def touches(access: Viewer, word: Annotated[str, Query(min_length=1, max_length=200)]) -> dict[str, Any]:
    """Return the documents that contain a word."""
    return access.workspace.words.touches(access.project.id, word)


@router.post(PROJECT + "/words", tags=["words"])
def assign_word(access: Reviewer, body: WordBody) -> schema.Word:
    """Assign a word to a class."""
    return access.workspace.words.assign(access.project.id, body.word, body.label, by=access.by)


@router.delete(PROJECT + "/words/{word}", tags=["words"])
def remove_word(access: Reviewer, word: str) -> dict[str, bool]:
    """Remove a word's class."""
    access.workspace.words.remove(access.project.id, word, by=access.by)
    return {"removed": True}


@router.get(RUN + "/groups", tags=["groups"])
def list_groups(access: Viewer, run: str) -> list[Any]:
    """List the groups that fit no class."""
    return access.workspace.groups.list(find_run(access, run).id)


@router.post(RUN + "/groups/rename", tags=["groups"])
def rename_group(access: Reviewer, run: str, body: GroupName) -> list[Any]:
    """Rename a group."""
    access.workspace.groups.rename(find_run(access, run).id, body.group, body.name, by=access.by)
    return list_groups(access, run)


@router.post(RUN + "/groups/merge", tags=["groups"])
def merge_groups(access: Reviewer, run: str, body: GroupMerge) -> list[Any]:
    """Merge one group into another."""
    access.workspace.groups.merge(find_run(access, run).id, [body.group, body.into], body.into, by=access.by)
    return list_groups(access, run)


@router.post(RUN + "/groups/class", tags=["groups"])
def group_to_class(access: Reviewer, run: str, body: GroupName) -> list[Any]:
    """Turn a group into a class."""
    service.make_class(access, run, body.group, body.name)
    return list_groups(access, run)


@router.get(RUN + "/subtopics", tags=["groups"])
def subtopics(
    access: Reviewer, run: str, within: Annotated[str, Query(max_length=2_000)], clusters: Clusters = None
) -> list[dict[str, Any]]:
    """Split a class or a new group into subtopics with number, name, size, words and documents."""
    return service.split_class(access, run, within, clusters).groups


@router.post(RUN + "/subtopics", tags=["groups"])
def name_subtopics(access: Reviewer, run: str, body: SubtopicNames) -> dict[str, int]:
    """Turn subtopics into classes by their numbers, and return how many documents got a class."""
    return {"answered": service.name_subtopics(access, run, body.within, body.clusters, body.names)}


# ---- check and export


@router.get(RUN + "/checks", tags=["check"])
def list_checks(access: Viewer, run: str) -> list[schema.Check]:
    """List the random samples of a run."""
    return access.workspace.checks.list(find_run(access, run).id)


@router.post(RUN + "/checks", tags=["check"])
def draw(access: Reviewer, run: str, body: SampleBody) -> schema.Check:
    """Draw a random sample."""
    return access.workspace.checks.draw(find_run(access, run).id, body.size, by=access.by, threshold=body.threshold)


@router.post(PROJECT + "/checks/{sample}/next", tags=["check"])
def next_of_check(access: Reviewer, sample: str) -> schema.Document | None:
    """Return the next document of a sample without the run's label."""
    return access.workspace.checks.next(find_check(access, sample)[0].id, access.by)


@router.post(PROJECT + "/checks/{sample}/answers", tags=["check"])
def answer_check(access: Reviewer, sample: str, body: AnswerBody) -> dict[str, Any] | None:
    """Answer a document of a sample, and return the estimate so far."""
    # The estimate after each answer shows when the sample is large enough.
    found = answer_sample(access, sample, body.document, body.label, body.token)[0]
    return access.workspace.checks.estimate(found.id)


@router.get(PROJECT + "/checks/{sample}/estimate", tags=["check"])
def estimate(access: Viewer, sample: str) -> dict[str, Any] | None:
    """Estimate from a sample how many labels are right."""
    return access.workspace.checks.estimate(find_check(access, sample)[0].id)


@router.post(PROJECT + "/checks/{sample}/accept", tags=["check"])
def accept(access: Reviewer, sample: str) -> dict[str, int]:
    """Accept, unread, every label that reaches the threshold of a completely answered sample."""
    accepted = access.workspace.checks.accept(find_check(access, sample)[0].id, by=access.by)
    access.bench.tallies.clear()
    return {"accepted": accepted}


@router.post(PROJECT + "/exports", tags=["export"], response_class=Response)
def export_file(access: Reviewer, body: ExportBody) -> Response:
    """Download labels (csv, xlsx, jsonl, parquet), report (html), model (isthmus), codebook, answers or audit log."""
    return service.make_export(access, body.run, body.kind, body.format, body.add)
