"""Rules that the pages and the JSON interface share."""

from __future__ import annotations

import io
import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from fastapi import HTTPException, Request
from fastapi.responses import FileResponse, Response

from isthmus._utils import plural
from isthmus.corpus.limits import unpacking_at_most
from isthmus.corpus.sample import sample_file
from isthmus.exceptions import IsthmusError, UsageError
from isthmus.workbench.context import Access, Bench, get_bench
from isthmus.workspace.people import fold_name
from isthmus.workspace.schema import DONE, OWNER, ROLES, Answer, Check, Collection, Person, Project, Run

_FAMILIAR = 10_000  # pairs of address and account kept in memory
# Age of the numbers above the queue: at least these seconds, or this multiple of the time to count them.
_FRESH, _RATIO = 2.0, 50
# Number of entries that each cache keeps in memory.
_TALLIES, _RUNS, _GRADES, _MODELS = 1_000, 100, 8, 4
SITTING = 50  # answers that a forecast assumes if nobody gives a number
# Possible exports: title, description and formats.
EXPORTS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "labels": (
        "Labels",
        "Your table with label, confidence, needs_review, novel_group, review_reason and what people answered.",
        ("csv", "xlsx", "jsonl", "parquet"),
    ),
    "report": ("Report", "One page that works offline, to mail or archive.", ("html",)),
    "model": ("Model", "For later files: isthmus label later.csv --model FILE.", ("isthmus",)),
    "answers": ("Answers", "Who gave which answer and when, including answers that were taken back.", ("csv", "jsonl")),
    "codebook": (
        "Codebook",
        "Each class, its description and its number of documents; isthmus label takes it by --classes.",
        ("csv", "xlsx", "jsonl", "parquet"),
    ),
    "audit": ("Audit log", "Every event of this project, in order.", ("csv", "jsonl")),
}


# -- Accounts


class TooManyTries(HTTPException):
    """Answer to too many wrong passwords, with the seconds to wait."""

    def __init__(self, seconds: float):
        minutes = max(1, math.ceil(seconds / 60))
        super().__init__(
            429,
            f"Too many wrong passwords; try again in {plural(minutes, 'minute')}.",
            headers={"Retry-After": str(math.ceil(seconds))},
        )


def require_accounts(bench: Bench) -> None:
    """Raise an error if the server runs without accounts.

    Parameters
    ----------
    bench : Bench
        State of the server.
    """
    if not bench.settings.accounts:
        raise HTTPException(404, "Sign-in is off; the server accepts local connections only.")


def sign_in_person(request: Request, name: str, password: str) -> Person | None:
    """Return the person with a name and a password; every attempt is counted before the password is checked.

    Attempts are counted per address and account, per address, and per account. The last limit does not apply to an
    address from which the account has signed in before, so that strangers cannot lock people out.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    name : str
        Name that the client gives.
    password : str
        Password that the client gives.

    Returns
    -------
    Person or None
        The person, or None if the name or the password is wrong.

    Raises
    ------
    TooManyTries
        If a limit is exceeded.
    """
    bench = get_bench(request)
    address = address_of(request)
    account = fold_name(name)
    key = f"{address} {account}"
    limits = [(bench.by_name, key), (bench.by_address, address)]
    if key not in bench.familiar:
        limits.append((bench.by_account, account))
    for limiter, counted in limits:
        if wait := limiter.take(counted):
            raise TooManyTries(wait)
    person = bench.workspace.people.by_name(name)
    # A closed account is treated like an unknown one.
    kept = None if person is None or person.disabled else person.password_hash
    if not bench.passwords.verify(kept, password):
        bench.workspace.audit.note("sign-in refused", by=None, name=name[:200], address=address)
        return None
    # After a success, earlier failures from this address were most likely the person's own.
    bench.by_name.cleared(key)
    # Only this attempt is forgiven: earlier failures of the address or the account still count.
    for limiter, counted in limits[1:]:
        limiter.forgiven(counted)
    _keep(bench.familiar, key, None, _FAMILIAR)
    bench.workspace.audit.note("sign-in", by=person.id, subject=person.id, address=address)
    return person


def address_of(request: Request) -> str:
    """Return the address from which a request came; behind a trusted proxy, the one that the proxy reports.

    Parameters
    ----------
    request : Request
        Request of the browser or client.

    Returns
    -------
    str
        Address, or "unknown".
    """
    return request.client.host if request.client else "unknown"


def start_session(request: Request, response: Response, person: Person) -> None:
    """Send the browser a new session for a person.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    response : Response
        Response that gets the cookie.
    person : Person
        The person who signs in.
    """
    bench = get_bench(request)
    session = bench.cookies.new(person.id, person.session_key)
    response.headers["set-cookie"] = bench.cookies.header(session)
    request.state.session = session
    request.state.person = person


def end_session(request: Request, response: Response, *, everywhere: bool) -> None:
    """End the session; copies of its cookie stop working too.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    response : Response
        Response that gets a new cookie.
    everywhere : bool
        Whether to end all sessions of the person.
    """
    bench, person = get_bench(request), request.state.person
    if bench.settings.accounts and everywhere:
        bench.workspace.people.end_sessions(person.id, by=person.id)
    elif bench.settings.accounts:
        # The cookie expires by then in any case, so the record can be deleted.
        until = datetime.now(UTC) + timedelta(seconds=bench.settings.session_seconds)
        bench.workspace.people.end_session(person.id, request.state.session.key, until, by=person.id)
    response.headers["set-cookie"] = bench.cookies.header(bench.cookies.new())


def invite(bench: Bench, person: Person, role: str, project: str | None) -> str:
    """Create an invitation; only owners of a project can invite into it.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The person who invites.
    role : str
        Role of the invited person.
    project : str or None
        Id of the project to join, or None.

    Returns
    -------
    str
        Token of the invitation.

    Raises
    ------
    HTTPException
        If the person does not own the project.
    """
    # A project of other people gives the same answer as a missing one.
    if project and bench.workspace.projects.role(project, person.id) != OWNER:
        raise HTTPException(404, "There is no such project here.")
    return bench.workspace.people.invite(role, by=person.id, project=project or None)


def join(request: Request, token: str, name: str, password: str) -> Person:
    """Create the account of an invited person.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    token : str
        Token of the invitation.
    name : str
        Name of the new person.
    password : str
        Password of the new person.

    Returns
    -------
    Person
        The new person.

    Raises
    ------
    TooManyTries
        If too many invalid tokens came from this address.
    """
    bench, address = _slowly(request)
    try:
        return bench.workspace.people.accept(token, name, bench.passwords.hash(password))
    except IsthmusError:
        bench.by_address.failed(address)
        raise


def _slowly(request: Request) -> tuple[Bench, str]:
    """Return the state of the server and the client's address, or raise an error after too many guesses."""
    bench, address = get_bench(request), address_of(request)
    if wait := bench.by_address.wait(address):
        raise TooManyTries(wait)
    return bench, address


def make_password_link(bench: Bench, person: Person, other: str) -> tuple[Person, str]:
    """Create a link with which a person can set a new password.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The owner who creates the link.
    other : str
        Id of the person who gets the link.

    Returns
    -------
    tuple[Person, str]
        The person who gets the link, and its token.

    Raises
    ------
    HTTPException
        If the account cannot sign in.
    """
    found = bench.workspace.people.get(other)
    if found.disabled or found.password_hash is None:
        raise HTTPException(422, "This account cannot sign in, so a new password would have no effect.")
    bench.workspace.audit.note("password link made", by=person.id, subject=found.id)
    return found, bench.links.make(found)


def use_password_link(request: Request, token: str, password: str) -> Person:
    """Set the password of the person for whom a link was made.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    token : str
        Token of the link.
    password : str
        New password.

    Returns
    -------
    Person
        The person.

    Raises
    ------
    HTTPException
        If the link was used, has expired or is forged.
    """
    bench, address = _slowly(request)
    id = bench.links.read(token) if bench.settings.accounts else None
    person = bench.workspace.people.get(id) if id else None
    if person is None or not bench.links.holds(token, person):
        bench.by_address.failed(address)
        raise HTTPException(404, "This link was used already, has expired or is wrong; ask an owner for another.")
    return bench.workspace.people.set_password(person.id, bench.passwords.hash(password), by=person.id)


def change_own_password(request: Request, person: Person, old: str, password: str) -> Person:
    """Change the password of the signed-in person.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    person : Person
        The signed-in person.
    old : str
        Present password.
    password : str
        New password.

    Returns
    -------
    Person
        The person.

    Raises
    ------
    UsageError
        If the present password is wrong, or the new one is not allowed.
    """
    bench = get_bench(request)
    require_accounts(bench)
    if sign_in_person(request, person.name, old) is None:
        raise UsageError("The old password is wrong.")
    return bench.workspace.people.set_password(person.id, bench.passwords.hash(password), by=person.id)


def set_role(bench: Bench, person: Person, other: str, role: str) -> Person:
    """Change another person's role in the workspace.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The person who makes the change.
    other : str
        Id of the person whose role changes.
    role : str
        New role.

    Returns
    -------
    Person
        The changed person.
    """
    refuse_self(person.id, other)
    return bench.workspace.people.set_role(other, role, by=person.id)


def refuse_self(person: str, other: str) -> None:
    """Raise an error if somebody tries to change their own account or membership.

    Parameters
    ----------
    person : str
        Id of the person who makes the change.
    other : str
        Id of the person who is changed.

    Raises
    ------
    HTTPException
        If both are the same.
    """
    if person == other:
        raise HTTPException(422, "Another owner has to do this for you.")


# -- Projects


def may_create(bench: Bench, person: Person) -> bool:
    """Return whether a person may create projects.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The person.

    Returns
    -------
    bool
        True for owners of the workspace, and without accounts.
    """
    return not bench.settings.accounts or person.role == OWNER


def require_creator(bench: Bench, person: Person) -> None:
    """Raise an error if a person may not create projects.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The person.
    """
    if not may_create(bench, person):
        raise HTTPException(403, "Only owners of the workspace can create projects.")


def find_run(access: Access, run: str) -> Run:
    """Return a run of this project, or raise a 404 error.

    Parameters
    ----------
    access : Access
        The project.
    run : str
        Id of the run.

    Returns
    -------
    Run
        The run.
    """
    return require_own(access, access.workspace.runs.get(run), "run")


def enter_run(bench: Bench, person: Person, run: str) -> Project:
    """Return the project of a run if the person may review there.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The person.
    run : str
        Id of the run.

    Returns
    -------
    Project
        The project.

    Raises
    ------
    HTTPException
        If the person cannot see the run, or is not a reviewer.
    """
    found = bench.workspace.runs.get(run)
    seen = bench.enter_project(person, found.project)
    if seen is None:
        raise HTTPException(404, "There is no such run here.")
    project, role = seen
    if ROLES.index(role) < ROLES.index("reviewer"):
        raise HTTPException(403, f"This needs the role reviewer; your role here is {role}.")
    return project


def saved_result(bench: Bench, run: str) -> Any:
    """Load the saved result of a run; the latest few stay in memory.

    Parameters
    ----------
    bench : Bench
        State of the server.
    run : str
        Id of the run.

    Returns
    -------
    Any
        A :class:`isthmus.LabelResult`.
    """
    with bench.loading:
        # Removing and adding it again makes it the most recently used one.
        result = bench.models.pop(run, None) or bench.workspace.exports.load(run)
        return _keep(bench.models, run, result, _MODELS)


def split_class(access: Access, run: str, within: str, clusters: int | None) -> Any:
    """Split a class or a new group into subtopics; the same arguments give the same subtopics.

    Parameters
    ----------
    access : Access
        The project.
    run : str
        Id of the run.
    within : str
        Name of the class or group.
    clusters : int or None
        Number of subtopics; chosen automatically if None.

    Returns
    -------
    Any
        The subtopics.
    """
    return saved_result(access.bench, find_run(access, run).id).split(within, clusters)


def name_subtopics(access: Access, run: str, within: str, clusters: int | None, names: dict[str, str]) -> int:
    """Turn subtopics into classes.

    Parameters
    ----------
    access : Access
        The project.
    run : str
        Id of the run.
    within : str
        Name of the class or group that was split.
    clusters : int or None
        Number of subtopics, as for :func:`split_class`.
    names : dict[str, str]
        Name of the class by number of the subtopic.

    Returns
    -------
    int
        Number of documents that got a class.
    """
    found = split_class(access, run, within, clusters)
    table = found.name(names)
    count = 0
    # One decision per class, so that each can be undone separately.
    for label in dict.fromkeys(table["true_label"]):
        numbers = zip(table["document"], table["true_label"], strict=True)
        positions = [number - 1 for number, name in numbers if name == label]
        count += access.workspace.groups.label_documents(run, positions, label, by=access.by, group=within)
    access.bench.tallies.clear()
    return count


def find_collection(access: Access, collection: str) -> Collection:
    """Return a collection of this project, or raise a 404 error.

    Parameters
    ----------
    access : Access
        The project.
    collection : str
        Id of the collection.

    Returns
    -------
    Collection
        The collection.
    """
    return require_own(access, access.workspace.collections.get(collection), "file")


def require_own(access: Access, found: Any, what: str) -> Any:
    """Return an object if it belongs to this project, or raise a 404 error.

    Parameters
    ----------
    access : Access
        The project.
    found : Any
        Object with the attribute ``project``.
    what : str
        Kind of the object, for the error message.

    Returns
    -------
    Any
        The object.
    """
    if found.project != access.project.id:
        raise HTTPException(404, f"There is no such {what} here.")
    return found


def find_check(access: Access, check: str) -> tuple[Check, Run]:
    """Return a random sample of this project with its run, or raise a 404 error.

    Parameters
    ----------
    access : Access
        The project.
    check : str
        Id of the sample.

    Returns
    -------
    tuple[Check, Run]
        The sample and its run.
    """
    found = access.workspace.checks.get(check)
    return found, require_own(access, access.workspace.runs.get(found.run), "sample")


# -- Files


def map_file(access: Access, collection: str, **mapping: Any) -> Collection:
    """Map the columns of a file and read its documents, within the server's limits.

    Parameters
    ----------
    access : Access
        The project.
    collection : str
        Id of the collection.
    **mapping : Any
        Arguments of :meth:`Collections.map`.

    Returns
    -------
    Collection
        The collection.
    """
    find_collection(access, collection)
    with unpacking_at_most(access.bench.settings.max_unpacked):
        return access.workspace.collections.map(collection, by=access.by, **mapping)


def make_export(access: Access, run: str, kind: str, format: str, add: Sequence[str] = ()) -> FileResponse:
    """Write an export and return it as a download.

    Both parts of the file name come from the server, so nothing that a client sends becomes a path.

    Parameters
    ----------
    access : Access
        The project.
    run : str
        Id of the run.
    kind : str
        Kind of the export, a key of ``EXPORTS``.
    format : str
        Ending of the file without its point.
    add : Sequence[str], default=()
        Names of the added columns of labels.

    Returns
    -------
    FileResponse
        The download.

    Raises
    ------
    HTTPException
        If the kind or the format is unknown.
    """
    if kind not in EXPORTS or format not in EXPORTS[kind][2]:
        raise HTTPException(422, "There is no such export; choose one from the page.")
    exports, found = access.workspace.exports, find_run(access, run)
    export = exports.make(access.project.id, kind, by=access.by, run=found.id, ending=f".{format}", add=add)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", export.name).strip(".-") or f"{kind}.{format}"
    return FileResponse(
        exports.path(export.id),
        media_type="application/octet-stream",
        # Browsers without RFC 5987 use the plain name, all others the full one.
        headers={"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(export.name)}"},
    )


# -- Decisions, and the numbers that change with them


def give_answer(access: Access, run: str, document: str, label: str, token: str | None) -> Answer:
    """Answer a document of a run's queue.

    Parameters
    ----------
    access : Access
        The project and the person.
    run : str
        Id of the run.
    document : str
        Id of the document.
    label : str
        Class that the person chooses.
    token : str or None
        Token of the request; a repeated request with the same token adds nothing.

    Returns
    -------
    Answer
        The stored answer.
    """
    found = queue_run(access, run)
    given = access.workspace.answers.give(document, label, by=access.by, run=found.id, token=token)
    count_own_answer(access, found, given)
    return given


def answer_sample(access: Access, check: str, document: str, label: str, token: str | None) -> tuple[Any, Any]:
    """Answer a document of a random sample.

    Parameters
    ----------
    access : Access
        The project and the person.
    check : str
        Id of the sample.
    document : str
        Id of the document.
    label : str
        Class that the person chooses.
    token : str or None
        Token of the request; a repeated request with the same token adds nothing.

    Returns
    -------
    tuple[Any, Any]
        The sample after the answer, and its run.
    """
    found, run = find_check(access, check)
    access.workspace.checks.answer(found.id, document, label, by=access.by, token=token)
    # The answer changes the numbers above the queue.
    access.bench.tallies.pop(run.id, None)
    return find_check(access, check)


def make_class(access: Access, run: str, group: str, name: str) -> None:
    """Turn a group into a class.

    Parameters
    ----------
    access : Access
        The project and the person.
    run : str
        Id of the run.
    group : str
        Name of the group.
    name : str
        Name of the class.
    """
    access.workspace.groups.make_class(find_run(access, run).id, group, name, by=access.by)
    access.bench.tallies.clear()


@dataclass
class Tally:
    """Numbers above the queue of a run, and the classes that answers name; up to some seconds old."""

    until: float
    counts: dict[str, int]
    agreement: dict[str, Any]
    by_person: dict[str, int]
    labels: list[str]
    forecast: dict[str, Any] | None  # forecast for ``SITTING`` more answers


def tally(access: Access, run: Any) -> Tally:
    """Return the numbers above the queue of a run.

    The longer counting takes, the longer the numbers are reused. One request counts while others use the old numbers.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    Tally
        The numbers.
    """
    bench = access.bench
    kept = bench.tallies.get(run.id)
    # Old numbers are shown while another request counts; without old numbers, each request counts.
    if kept is not None and (kept.until > time.monotonic() or not bench.counting.acquire(blocking=False)):
        return kept
    try:
        return _count(access, run)
    finally:
        if kept is not None:
            bench.counting.release()


def _count(access: Access, run: Any) -> Tally:
    """Count the numbers above the queue of a run and cache them."""
    answers, project, began = access.workspace.answers, access.project.id, time.monotonic()
    found = Tally(
        until=0.0,
        counts=access.workspace.queue.counts(run.id),
        agreement=answers.agreement(project),
        by_person={row["by"]: row["answers"] for row in answers.counts(project)},
        labels=answers.labels(project),
        forecast=forecast(access, run, SITTING),
    )
    ended = time.monotonic()
    # Counting takes at most a fiftieth of the time, however large the project is.
    found.until = ended + max(_FRESH, _RATIO * (ended - began))
    return _keep(access.bench.tallies, run.id, found, _TALLIES)


def forecast(access: Access, run: Any, read: int) -> dict[str, Any] | None:
    """Forecast the effect of more answers, as numbers and as a sentence.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.
    read : int
        Number of documents that somebody can read.

    Returns
    -------
    dict[str, Any] or None
        The forecast, or None if nothing can be forecast.
    """
    found = access.workspace.runs.forecast(run.id, read)
    return None if found is None or not found.answers else {**found._asdict(), "sentence": str(found)}


def shown_tally(access: Access, run: Any) -> dict[str, Any]:
    """Return the numbers above the queue as one person sees them.

    Parameters
    ----------
    access : Access
        The project and the person.
    run : Any
        The run.

    Returns
    -------
    dict[str, Any]
        Values for the template.
    """
    found = tally(access, run)
    return {
        "mine": found.by_person.get(access.by, 0),
        "answers": sum(found.by_person.values()),
        "waiting": found.counts["to_review"],
        "held": found.counts["leased"],
        "agreement": found.agreement if found.agreement["documents"] else None,
        "forecast": found.forecast,
    }


def count_own_answer(access: Access, run: Any, given: Answer) -> None:
    """Update the cached numbers after an answer, so that people see their own answers immediately.

    Parameters
    ----------
    access : Access
        The project and the person.
    run : Any
        The run.
    given : Answer
        The stored answer.
    """
    kept = access.bench.tallies.get(run.id)
    if kept is not None:
        kept.by_person[access.by] = kept.by_person.get(access.by, 0) + 1
        if given.current:  # a second reading does not shorten the queue
            kept.counts["to_review"] = max(0, kept.counts["to_review"] - 1)
        if given.label not in kept.labels:
            kept.labels = sorted([*kept.labels, given.label])


def word_grades(access: Access, run: Any) -> dict[str, list[int]] | None:
    """Return the weights of words for highlighting; cached, because they never change and are slow to read.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    dict[str, list[int]] or None
        Weights by word, or None.
    """
    kept = access.bench.grades
    if run.id in kept:
        return kept[run.id]
    return _keep(kept, run.id, access.workspace.runs.table(run.id, "words"), _GRADES)


def queue_run(access: Access, run: str) -> Any:
    """Return a run of this project; finished runs are cached, because they never change.

    Parameters
    ----------
    access : Access
        The project.
    run : str
        Id of the run.

    Returns
    -------
    Any
        The run.
    """
    kept = access.bench.runs.get(run)
    if kept is not None and kept.project == access.project.id:
        return kept
    found = find_run(access, run)
    return _keep(access.bench.runs, found.id, found, _RUNS) if found.state == DONE else found


def _keep(kept: dict[str, Any], key: str, value: Any, most: int) -> Any:
    """Store a value in a cache and remove the oldest entries beyond its limit."""
    kept[key] = value
    while len(kept) > most:
        kept.pop(next(iter(kept)))
    return value


# -- The bundled sample as a project, so that new users have something to review


NAME = "Sample: two dealers' surveys"


def add_sample(workspace: Any, *, by: str, method: str = "auto") -> tuple[Any, Any]:
    """Add the bundled sample as a project and queue its run.

    Parameters
    ----------
    workspace : Any
        Open workspace.
    by : str
        Id of the person who makes the change.
    method : str, default="auto"
        Name of the method.

    Returns
    -------
    tuple[Any, Any]
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


def find_sample(workspace: Any, person: str) -> Any | None:
    """Return a person's sample project.

    Parameters
    ----------
    workspace : Any
        Open workspace.
    person : str
        Id of the person.

    Returns
    -------
    Any or None
        The project, or None if there is none.
    """
    return next((row for row in workspace.projects.list(person) if row.name == NAME), None)
