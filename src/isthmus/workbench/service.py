"""What the pages and the JSON interface do alike but are asked for in different ways: every such rule, once."""

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

_FAMILIAR = 10_000  # kept in memory
_FRESH, _RATIO = 2.0, 50  # how old the numbers above the queue may be: seconds, and times what counting took
_TALLIES, _RUNS, _GRADES, _MODELS = 1_000, 100, 8, 4  # kept in memory
SITTING = 50  # answers that a forecast speaks of where nobody says how many
# What can be exported: title, what it is, formats.
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
    """Too many wrong passwords."""

    def __init__(self, seconds: float):
        minutes = max(1, math.ceil(seconds / 60))
        super().__init__(
            429,
            f"Too many wrong passwords; try again in {plural(minutes, 'minute')}.",
            headers={"Retry-After": str(math.ceil(seconds))},
        )


def require_accounts(bench: Bench) -> None:
    """Refuse what makes sense only where people sign in."""
    if not bench.settings.accounts:
        raise HTTPException(404, "Sign-in is off; the server accepts local connections only.")


def sign_in_person(request: Request, name: str, password: str) -> Person | None:
    """The person with this name and password, or None; every try is counted before the password is looked at.

    Counted are the tries of an address for an account, of an address, and for an account from all addresses. The last
    limit spares an address from which the account has signed in before: strangers must not lock people out.
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
    kept = None if person is None or person.disabled else person.password_hash
    if not bench.passwords.verify(kept, password):
        bench.workspace.audit.note("sign-in refused", by=None, name=name[:200], address=address)
        return None
    bench.by_name.cleared(key)
    for limiter, counted in limits[1:]:
        limiter.forgiven(counted)
    _keep(bench.familiar, key, None, _FAMILIAR)
    bench.workspace.audit.note("sign-in", by=person.id, subject=person.id, address=address)
    return person


def address_of(request: Request) -> str:
    """The address that a request came from; behind a proxy that is trusted, the one that the proxy names."""
    return request.client.host if request.client else "unknown"


def start_session(request: Request, response: Response, person: Person) -> None:
    """Hand the browser a session that did not exist before."""
    bench = get_bench(request)
    session = bench.cookies.new(person.id, person.session_key)
    response.headers["set-cookie"] = bench.cookies.header(session)
    request.state.session = session
    request.state.person = person


def end_session(request: Request, response: Response, *, everywhere: bool) -> None:
    """Sign out: the cookie is worthless from now on, even a copy of it."""
    bench, person = get_bench(request), request.state.person
    if bench.settings.accounts and everywhere:
        bench.workspace.people.end_sessions(person.id, by=person.id)
    elif bench.settings.accounts:
        until = datetime.now(UTC) + timedelta(seconds=bench.settings.session_seconds)
        bench.workspace.people.end_session(person.id, request.state.session.key, until, by=person.id)
    response.headers["set-cookie"] = bench.cookies.header(bench.cookies.new())


def invite(bench: Bench, person: Person, role: str, project: str | None) -> str:
    """The token of an invitation; only owners of a project invite into it."""
    if project and bench.workspace.projects.role(project, person.id) != OWNER:
        raise HTTPException(404, "There is no such project here.")
    return bench.workspace.people.invite(role, by=person.id, project=project or None)


def join(request: Request, token: str, name: str, password: str) -> Person:
    bench, address = _slowly(request)
    try:
        return bench.workspace.people.accept(token, name, bench.passwords.hash(password))
    except IsthmusError:
        bench.by_address.failed(address)
        raise


def _slowly(request: Request) -> tuple[Bench, str]:
    """The workbench and the sender's address, unless too many guesses came from there."""
    bench, address = get_bench(request), address_of(request)
    if wait := bench.by_address.wait(address):
        raise TooManyTries(wait)
    return bench, address


def make_password_link(bench: Bench, person: Person, other: str) -> tuple[Person, str]:
    """Somebody's account and the token with which they set a new password."""
    found = bench.workspace.people.get(other)
    if found.disabled or found.password_hash is None:
        raise HTTPException(422, "This account cannot sign in, so a new password would have no effect.")
    bench.workspace.audit.note("password link made", by=person.id, subject=found.id)
    return found, bench.links.make(found)


def use_password_link(request: Request, token: str, password: str) -> Person:
    """Set the password of the person whom a link is for; refuse a link that is used, too old or made up."""
    bench, address = _slowly(request)
    id = bench.links.read(token) if bench.settings.accounts else None
    person = bench.workspace.people.get(id) if id else None
    if person is None or not bench.links.holds(token, person):
        bench.by_address.failed(address)
        raise HTTPException(404, "This link was used already, has expired or is wrong; ask an owner for another.")
    return bench.workspace.people.set_password(person.id, bench.passwords.hash(password), by=person.id)


def change_own_password(request: Request, person: Person, old: str, password: str) -> Person:
    bench = get_bench(request)
    require_accounts(bench)
    if sign_in_person(request, person.name, old) is None:
        raise UsageError("The old password is wrong.")
    return bench.workspace.people.set_password(person.id, bench.passwords.hash(password), by=person.id)


def set_role(bench: Bench, person: Person, other: str, role: str) -> Person:
    refuse_self(person.id, other)
    return bench.workspace.people.set_role(other, role, by=person.id)


def refuse_self(person: str, other: str) -> None:
    if person == other:
        raise HTTPException(422, "Another owner has to do this for you.")


# -- Projects


def may_create(bench: Bench, person: Person) -> bool:
    return not bench.settings.accounts or person.role == OWNER


def require_creator(bench: Bench, person: Person) -> None:
    if not may_create(bench, person):
        raise HTTPException(403, "Only owners of the workspace can create projects.")


def find_run(access: Access, run: str) -> Run:
    """A run of this project; one of another project is not there."""
    return require_own(access, access.workspace.runs.get(run), "run")


def enter_run(bench: Bench, person: Person, run: str) -> Project:
    """The project of a run, for somebody who may review there; one that is not theirs is not there."""
    found = bench.workspace.runs.get(run)
    seen = bench.enter_project(person, found.project)
    if seen is None:
        raise HTTPException(404, "There is no such run here.")
    project, role = seen
    if ROLES.index(role) < ROLES.index("reviewer"):
        raise HTTPException(403, f"This needs the role reviewer; your role here is {role}.")
    return project


def saved_result(bench: Bench, run: str) -> Any:
    """The saved result of a run; the latest few stay in memory."""
    with bench.loading:
        result = bench.models.pop(run, None) or bench.workspace.exports.load(run)
        return _keep(bench.models, run, result, _MODELS)


def split_class(access: Access, run: str, within: str, clusters: int | None) -> Any:
    """Subtopics of a class, or of a group that fits none; the same each time, for nothing is kept."""
    return saved_result(access.bench, find_run(access, run).id).split(within, clusters)


def name_subtopics(access: Access, run: str, within: str, clusters: int | None, names: dict[str, str]) -> int:
    """Make classes of subtopics, by their numbers; how many documents were answered with it."""
    found = split_class(access, run, within, clusters)
    table = found.name(names)
    count = 0
    for label in dict.fromkeys(table["true_label"]):
        numbers = zip(table["document"], table["true_label"], strict=True)
        positions = [number - 1 for number, name in numbers if name == label]
        count += access.workspace.groups.label_documents(run, positions, label, by=access.by, group=within)
    access.bench.tallies.clear()
    return count


def find_collection(access: Access, collection: str) -> Collection:
    """A file of this project; one of another project is not there."""
    return require_own(access, access.workspace.collections.get(collection), "file")


def require_own(access: Access, found: Any, what: str) -> Any:
    """What was found, where it is of this project; otherwise it is not there."""
    if found.project != access.project.id:
        raise HTTPException(404, f"There is no such {what} here.")
    return found


def find_check(access: Access, check: str) -> tuple[Check, Run]:
    """A sample of this project, and its run."""
    found = access.workspace.checks.get(check)
    return found, require_own(access, access.workspace.runs.get(found.run), "sample")


# -- Files


def map_file(access: Access, collection: str, **mapping: Any) -> Collection:
    """Choose the columns, and read the documents, within the server's limits."""
    find_collection(access, collection)
    with unpacking_at_most(access.bench.settings.max_unpacked):
        return access.workspace.collections.map(collection, by=access.by, **mapping)


def make_export(access: Access, run: str, kind: str, format: str, add: Sequence[str] = ()) -> FileResponse:
    """A file to download. Both names come from our own table; nothing a client sends becomes a path."""
    if kind not in EXPORTS or format not in EXPORTS[kind][2]:
        raise HTTPException(422, "There is no such export; choose one from the page.")
    exports, found = access.workspace.exports, find_run(access, run)
    export = exports.make(access.project.id, kind, by=access.by, run=found.id, ending=f".{format}", add=add)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", export.name).strip(".-") or f"{kind}.{format}"
    return FileResponse(
        exports.path(export.id),
        media_type="application/octet-stream",
        headers={"content-disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(export.name)}"},
    )


# -- Decisions, and the numbers that change with them


def give_answer(access: Access, run: str, document: str, label: str, token: str | None) -> Answer:
    """Answer a document of a run's queue."""
    found = queue_run(access, run)
    given = access.workspace.answers.give(document, label, by=access.by, run=found.id, token=token)
    count_own_answer(access, found, given)
    return given


def answer_sample(access: Access, check: str, document: str, label: str, token: str | None) -> tuple[Any, Any]:
    """Answer a document of a sample; the sample afterwards, and its run."""
    found, run = find_check(access, check)
    access.workspace.checks.answer(found.id, document, label, by=access.by, token=token)
    access.bench.tallies.pop(run.id, None)
    return find_check(access, check)


def make_class(access: Access, run: str, group: str, name: str) -> None:
    access.workspace.groups.make_class(find_run(access, run).id, group, name, by=access.by)
    access.bench.tallies.clear()


@dataclass
class Tally:
    """The numbers above the queue of a run, and the classes that answers name; some seconds old."""

    until: float
    counts: dict[str, int]
    agreement: dict[str, Any]
    by_person: dict[str, int]
    labels: list[str]
    forecast: dict[str, Any] | None  # of the next answers, as many as one sitting brings


def tally(access: Access, run: Any) -> Tally:
    """The tally of a run: the older the longer counting takes; one reader counts while the others go on."""
    bench = access.bench
    kept = bench.tallies.get(run.id)
    if kept is not None and (kept.until > time.monotonic() or not bench.counting.acquire(blocking=False)):
        return kept
    try:
        return _count(access, run)
    finally:
        if kept is not None:
            bench.counting.release()


def _count(access: Access, run: Any) -> Tally:
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
    found.until = ended + max(_FRESH, _RATIO * (ended - began))
    return _keep(access.bench.tallies, run.id, found, _TALLIES)


def forecast(access: Access, run: Any, read: int) -> dict[str, Any] | None:
    """What so many further answers should bring, as numbers and as a sentence; None where nothing is expected."""
    found = access.workspace.runs.forecast(run.id, read)
    return None if found is None or not found.answers else {**found._asdict(), "sentence": str(found)}


def shown_tally(access: Access, run: Any) -> dict[str, Any]:
    """The numbers as one person sees them."""
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
    """One's own number grows at once, though the others are some seconds old; so does the list of classes."""
    kept = access.bench.tallies.get(run.id)
    if kept is not None:
        kept.by_person[access.by] = kept.by_person.get(access.by, 0) + 1
        if given.current:  # a second reading leaves the queue as long as it was
            kept.counts["to_review"] = max(0, kept.counts["to_review"] - 1)
        if given.label not in kept.labels:
            kept.labels = sorted([*kept.labels, given.label])


def word_grades(access: Access, run: Any) -> dict[str, list[int]] | None:
    """Grades of words for the tints. They never change, and reading them takes longer than all else: kept at hand."""
    kept = access.bench.grades
    if run.id in kept:
        return kept[run.id]
    return _keep(kept, run.id, access.workspace.runs.table(run.id, "words"), _GRADES)


def queue_run(access: Access, run: str) -> Any:
    """A run of this project. What the desk needs of one that is done never changes: kept at hand."""
    kept = access.bench.runs.get(run)
    if kept is not None and kept.project == access.project.id:
        return kept
    found = find_run(access, run)
    return _keep(access.bench.runs, found.id, found, _RUNS) if found.state == DONE else found


def _keep(kept: dict[str, Any], key: str, value: Any, most: int) -> Any:
    """Keep a value in memory; the oldest give way."""
    kept[key] = value
    while len(kept) > most:
        kept.pop(next(iter(kept)))
    return value


# -- The bundled sample as a project, so that a newcomer has something to review


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
    return next((row for row in workspace.projects.list(person) if row.name == NAME), None)
