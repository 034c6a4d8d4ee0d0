"""Shared code of all routes: the state of the server, who may do what, and how pages are rendered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Body, Depends, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from isthmus.exceptions import IsthmusError
from isthmus.wording import LOOK
from isthmus.workbench.sessions import Cookies, PasswordLinks, Passwords, RateLimiter, Session
from isthmus.workbench.settings import Settings
from isthmus.workspace.schema import OWNER, ROLES, Answer, Check, Collection, Person, Project, Run

# Age of the numbers above the queue: at least these seconds, or this multiple of the time to count them.
_FRESH, _RATIO = 2.0, 50
_TALLIES, _GRADES, _MODELS = 1_000, 8, 4  # entries that each cache keeps in memory
SITTING = LOOK  # answers that a forecast assumes if nobody gives a number

# Fields of requests, with their limits in characters; the workspace checks names again.
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=2_000)]
NameField = Annotated[Name, Body(embed=True)]
TextField = Annotated[Text, Body(embed=True)]
Token = Annotated[Annotated[str, Field(min_length=1, max_length=64)] | None, Body()]
After = Annotated[int | None, Query(ge=-1, lt=2**31, description="the last number of the page before")]
Limit = Annotated[int, Query(ge=1, le=500)]
Filter = Annotated[str | None, Query(max_length=200)]
# Beginnings of addresses.
PROJECT, RUN = "/projects/{project}", "/projects/{project}/runs/{run}"


class Fields(BaseModel):
    """Base class of request bodies with optional fields."""

    # A misspelt field would otherwise be ignored without a message.
    model_config = ConfigDict(extra="forbid")


class Bench:
    """State of a server: its workspace, cookies, limits, templates and caches.

    Parameters
    ----------
    workspace : Workspace
        Open workspace.
    settings : Settings
        Settings of the workbench.
    """

    def __init__(self, workspace: Any, settings: Settings):
        self.workspace, self.settings = workspace, settings
        self.cookies, self.passwords, self.links = Cookies(settings), Passwords(), PasswordLinks(settings)
        self.by_name = RateLimiter(5, 900)  # 5 failures in 900 seconds for one address and one account
        # 30 failures for one address, whatever the account.
        self.by_address = RateLimiter(30, 900)
        self.by_account = RateLimiter(50, 900)  # 50 failures for one account, whatever the address
        self.familiar: dict[str, None] = {}  # pairs of address and account that have signed in before
        self.tallies: dict[str, Tally] = {}  # numbers shown above the queue, by run; a few seconds old
        self.counting = threading.Lock()  # held by the request that refreshes these numbers
        self.loading = threading.Lock()  # held while a saved result is loaded, so that only one is loaded at a time
        # Weights of words for highlighting, and saved results that label texts for scripts. A finished run never
        # changes, so both can stay in memory.
        self.grades: Callable[[str], Any] = lru_cache(_GRADES)(lambda run: workspace.runs.table(run, "words"))
        self._models: Callable[[str], Any] = lru_cache(_MODELS)(lambda run: workspace.exports.load(run))

    def model(self, run: str) -> Any:
        """Return the saved result of a run.

        Parameters
        ----------
        run : str
            Id of a finished run.

        Returns
        -------
        LabelResult
            The result.
        """
        with self.loading:
            return self._models(run)

    def enter(self, session: Session, path: str) -> tuple[Person | None, tuple[Project, str] | None]:
        """Return the person behind a session, and the project of an address with the person's role.

        Parameters
        ----------
        session : Session
            Session of the request.
        path : str
            Path of the address.

        Returns
        -------
        tuple
            The person or None, and the pair of project and role or None.
        """
        if not self.settings.accounts:
            person = self.workspace.people.local()
        elif session.person is None or session.stamp is None:
            return None, None
        else:
            person = self.workspace.people.behind(session.person, session.stamp, session.key)
        project = project_in(path)
        return person, self.enter_project(person, project) if person and project else None

    def enter_project(self, person: Person, project: str) -> tuple[Project, str] | None:
        """Return a project with a person's role in it.

        Parameters
        ----------
        person : Person
            The person.
        project : str
            Id of the project.

        Returns
        -------
        tuple or None
            Project and role; None if the project does not exist or the person is no member.
        """
        if self.settings.accounts:
            return self.workspace.projects.seen_by(project, person.id)
        try:
            return self.workspace.projects.get(project), OWNER
        except IsthmusError as error:
            if error.code == "not-found":
                return None
            raise  # other errors, such as an unavailable database, do not mean that the project is missing

    def projects_of(self, person: Person, *, archived: bool = False) -> list[Project]:
        """Return the projects that a person can see.

        Parameters
        ----------
        person : Person
            The person.
        archived : bool, default=False
            Whether to include archived projects.

        Returns
        -------
        list[Project]
            The projects.
        """
        return self.workspace.projects.list(person.id if self.settings.accounts else None, archived=archived)


def project_in(path: str) -> str:
    """Return the id of the project in an address.

    Parameters
    ----------
    path : str
        Path of the address.

    Returns
    -------
    str
        The id, or "".
    """
    parts = path.removeprefix("/api").split("/", 3)
    return parts[2] if len(parts) > 2 and parts[1] == "projects" else ""


def get_bench(request: Request) -> Bench:
    """Return the state of the server.

    Parameters
    ----------
    request : Request
        Any request.

    Returns
    -------
    Bench
        The state.
    """
    return request.app.state.bench


# Dependencies are coroutines: FastAPI would run a plain function in a thread, which costs more than its body.
async def bench_now(request: Request) -> Bench:
    """Return the state of the server, as a dependency of routes.

    Parameters
    ----------
    request : Request
        Any request.

    Returns
    -------
    Bench
        The state.
    """
    return get_bench(request)


class SignInNeeded(Exception):
    """Raised when nobody has signed in; the application answers with 401 or the page for signing in."""


async def signed_in(request: Request) -> Person:
    """Return the signed-in person, as a dependency of routes.

    Parameters
    ----------
    request : Request
        The request.

    Returns
    -------
    Person
        The person.

    Raises
    ------
    SignInNeeded
        If nobody has signed in.
    """
    if request.state.person is None:
        raise SignInNeeded
    return request.state.person


async def known_fields(request: Request) -> None:
    """Refuse a JSON body with a field that the operation does not know, as a dependency of routes.

    Parameters
    ----------
    request : Request
        The request.

    Raises
    ------
    HTTPException
        If a field is unknown.
    """
    names = {field.alias for field in request.scope["route"].dependant.body_params}
    # A misspelt field would otherwise be ignored without a message. A model, named "body", checks its own fields.
    if names and names != {"body"} and request.headers.get("content-type", "").startswith("application/json"):
        try:
            body = await request.json()
        except ValueError:  # FastAPI reports a body that is no JSON; an empty one may be allowed
            return
        unknown = sorted(set(body) - names) if isinstance(body, dict) else []
        if unknown:
            raise HTTPException(422, f"{unknown[0][:40]!r} is no field here; use {', '.join(sorted(names))}.")


BenchNow = Annotated[Bench, Depends(bench_now)]
SignedIn = Annotated[Person, Depends(signed_in)]


async def workspace_owner(bench: BenchNow, person: SignedIn) -> Person:
    """Return the signed-in person if it is an owner of the workspace.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The signed-in person.

    Returns
    -------
    Person
        The person.
    """
    require_workspace_owner(bench, person, "Only owners of the workspace can do this.")
    return person


def require_workspace_owner(bench: Bench, person: Person, reason: str) -> None:
    """Raise an error if a person is not an owner of the workspace.

    Parameters
    ----------
    bench : Bench
        State of the server.
    person : Person
        The person.
    reason : str
        Sentence of the error.

    Raises
    ------
    HTTPException
        If the person is no owner.
    """
    if bench.settings.accounts and person.role != OWNER:
        raise HTTPException(403, reason)


WorkspaceOwner = Annotated[Person, Depends(workspace_owner)]


@dataclass
class Access:
    """What a request may do in a project: the project, the person and the role."""

    bench: Bench
    project: Project
    person: Person
    role: str
    request: Any = None

    @property
    def workspace(self) -> Any:
        """The open workspace."""
        return self.bench.workspace

    @property
    def id(self) -> str:
        """Id of the project."""
        return self.project.id

    @property
    def by(self) -> str:
        """Id of the person."""
        return self.person.id

    def may(self, role: str) -> bool:
        """Return whether the person has a role, or one that includes it.

        Parameters
        ----------
        role : str
            The role.

        Returns
        -------
        bool
            True if so.
        """
        return ROLES.index(self.role) >= ROLES.index(role)

    def require(self, role: str) -> Access:
        """Return this access, or raise an error if the person lacks a role.

        Parameters
        ----------
        role : str
            The role.

        Returns
        -------
        Access
            The same access.

        Raises
        ------
        HTTPException
            If the person's role does not suffice.
        """
        if not self.may(role):
            raise HTTPException(403, f"This needs the role {role}; your role here is {self.role}.")
        return self

    def own(self, found: Any, what: str) -> Any:
        """Return an object of this project, or raise an error if it belongs to another one.

        Parameters
        ----------
        found : Any
            Object with the attribute ``project``.
        what : str
            Kind of the object, for the error message.

        Returns
        -------
        Any
            The same object.

        Raises
        ------
        HTTPException
            If the object belongs to another project; the sentence is that for a missing object.
        """
        if found.project != self.id:
            raise HTTPException(404, f"There is no such {what} here.")
        return found

    def run(self, id: str) -> Run:
        """Return a run of this project.

        Parameters
        ----------
        id : str
            Id of the run.

        Returns
        -------
        Run
            The run.
        """
        return self.own(self.workspace.runs.get(id), "run")

    def run_or_latest(self, id: str | None) -> Run | None:
        """Return a run of this project, or the latest finished one.

        Parameters
        ----------
        id : str or None
            Id of the run; empty for the latest.

        Returns
        -------
        Run or None
            The run; None if no run has finished.
        """
        return self.run(id) if id else self.workspace.runs.latest(self.id)

    def collection(self, id: str) -> Collection:
        """Return a file of this project.

        Parameters
        ----------
        id : str
            Id of the file.

        Returns
        -------
        Collection
            The file.
        """
        return self.own(self.workspace.collections.get(id), "file")

    def check(self, id: str) -> tuple[Check, Run]:
        """Return a sample of this project with its run.

        Parameters
        ----------
        id : str
            Id of the sample.

        Returns
        -------
        tuple[Check, Run]
            The sample and the run.
        """
        found = self.workspace.checks.get(id)
        return found, self.own(self.workspace.runs.get(found.run), "sample")

    def forget_tallies(self) -> None:
        """Count the numbers above the queue anew, after a decision about many documents."""
        self.bench.tallies.clear()


def access(needed: str) -> Callable:
    """Return the dependency that requires a role in the project of the address.

    Parameters
    ----------
    needed : str
        The role.

    Returns
    -------
    callable
        The dependency.
    """

    async def enter(request: Request, project: str, bench: BenchNow, person: SignedIn) -> Access:
        """Return what the person may do, or raise an error."""
        seen = request.state.seen  # the gate has looked it up together with the person
        if seen is None or seen[0].id != project:
            raise HTTPException(404, "There is no such project here.")
        return Access(bench, seen[0], person, seen[1], request).require(needed)

    enter.needed = needed  # type: ignore[attr-defined]  # a test checks that every address requires a role
    return enter


Viewer = Annotated[Access, Depends(access("viewer"))]
Reviewer = Annotated[Access, Depends(access("reviewer"))]
Owner = Annotated[Access, Depends(access("owner"))]


# -- The numbers above the queue. Counting them takes longer than an answer, so they may be some seconds old.


@dataclass
class Tally:
    """Numbers of a run's queue and of its project's answers, valid until a time of the monotonic clock."""

    until: float
    counts: dict[str, int]
    agreement: dict[str, Any]
    by_person: dict[str, int]
    labels: list[str]
    forecast: dict[str, Any] | None  # forecast for ``SITTING`` more answers

    def shown_to(self, person: str) -> dict[str, Any]:
        """Return the numbers as one person sees them.

        Parameters
        ----------
        person : str
            Id of the person.

        Returns
        -------
        dict[str, Any]
            ``mine``, ``answers``, ``waiting``, ``held``, ``agreement`` and ``forecast``.
        """
        return {
            "mine": self.by_person.get(person, 0),
            "answers": sum(self.by_person.values()),
            "waiting": self.counts["to_review"],
            "held": self.counts["leased"],
            "agreement": self.agreement if self.agreement["documents"] else None,
            "forecast": self.forecast,
        }

    def add(self, given: Answer) -> None:
        """Count an answer that has just been given.

        Parameters
        ----------
        given : Answer
            The answer.
        """
        self.by_person[given.by] = self.by_person.get(given.by, 0) + 1
        if given.current:  # a second reading does not shorten the queue
            self.counts["to_review"] = max(0, self.counts["to_review"] - 1)
        self.labels = sorted({*self.labels, given.label})


def tally(access: Access, run: Run) -> Tally:
    """Return the numbers above the queue of a run.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run
        The run.

    Returns
    -------
    Tally
        The numbers.
    """
    bench, answers, kept = access.bench, access.workspace.answers, access.bench.tallies.get(run.id)
    # Old numbers are shown while another request counts; without old numbers, each request counts.
    if kept is not None and (kept.until > time.monotonic() or not bench.counting.acquire(blocking=False)):
        return kept
    try:
        began = time.monotonic()
        found = Tally(
            until=0.0,
            counts=access.workspace.queue.counts(run.id),
            agreement=answers.agreement(access.id),
            by_person={row["by"]: row["answers"] for row in answers.counts(access.id)},
            labels=answers.labels(access.id),
            forecast=forecast_of(access, run, SITTING),
        )
        ended = time.monotonic()
        # Counting takes at most a fiftieth of the time, however large the project is.
        found.until = ended + max(_FRESH, _RATIO * (ended - began))
        remember(bench.tallies, run.id, found, _TALLIES)
        return found
    finally:
        if kept is not None:
            bench.counting.release()


def forecast_of(access: Access, run: Run, read: int) -> dict[str, Any] | None:
    """Return how many labels more answers would correct.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run
        The run.
    read : int
        Number of answers.

    Returns
    -------
    dict or None
        The figures and a sentence; None without an expected accuracy.
    """
    found = access.workspace.runs.forecast(run.id, read)
    return None if found is None or not found.answers else {**found._asdict(), "sentence": str(found)}


def remember(kept: dict[str, Any], key: str, value: Any, most: int) -> None:
    """Add a value to a cache, and drop its oldest entries.

    Parameters
    ----------
    kept : dict
        The cache.
    key : str
        Key of the value.
    value : Any
        The value.
    most : int
        Largest number of entries.
    """
    kept[key] = value
    while len(kept) > most:
        kept.pop(next(iter(kept)))


def people_names(access: Access) -> dict[str, str]:
    """Return the names of all people by their ids.

    Parameters
    ----------
    access : Access
        Access to any project.

    Returns
    -------
    dict[str, str]
        The names.
    """
    return {row.id: row.name for row in access.workspace.people.list()}


def known_classes(run: Run, answered: list[str]) -> list[str]:
    """Return the classes of a run, then those that only people have used.

    Parameters
    ----------
    run : Run
        The run.
    answered : list[str]
        Classes of answers.

    Returns
    -------
    list[str]
        The classes.
    """
    known = list((run.summary or {}).get("classes", []))
    return known + [name for name in answered if name not in known]


def classes_of(access: Access, run: Run | None) -> list[str]:
    """Return the classes of a run and of its project's answers.

    Parameters
    ----------
    access : Access
        Access to the project.
    run : Run or None
        The run.

    Returns
    -------
    list[str]
        The classes; none without a run.
    """
    return known_classes(run, access.workspace.answers.labels(access.id)) if run else []


def answer_count(access: Access) -> int:
    """Return the number of a project's answers.

    Parameters
    ----------
    access : Access
        Access to the project.

    Returns
    -------
    int
        The number.
    """
    return sum(row["answers"] for row in access.workspace.answers.counts(access.id))
