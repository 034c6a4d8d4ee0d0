"""Shared code of all pages: the workspace, the templates, the signed-in person and the person's rights."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from isthmus._utils import plural
from isthmus.exceptions import IsthmusError
from isthmus.report.listing import tint
from isthmus.report.page import make_environment
from isthmus.workbench.sessions import Cookies, PasswordLinks, Passwords, RateLimiter, Session
from isthmus.workbench.settings import Settings
from isthmus.workspace.schema import OWNER, ROLES


class Bench:
    """The workspace with the settings, limits and caches of a running server."""

    def __init__(self, workspace: Any, settings: Settings):
        self.workspace, self.settings = workspace, settings
        self.cookies = Cookies(settings)
        self.passwords = Passwords()
        self.links = PasswordLinks(settings)
        self.by_name = RateLimiter(5, 900)  # 5 failures in 900 seconds for one address and one account
        # 30 failures for one address, whatever the account.
        self.by_address = RateLimiter(30, 900)
        self.by_account = RateLimiter(50, 900)  # 50 failures for one account, whatever the address
        self.familiar: dict[str, None] = {}  # pairs of address and account that have signed in before
        self.templates = make_templates()
        self.tallies: dict[str, Any] = {}  # numbers shown above the queue, by run; a few seconds old
        self.counting = threading.Lock()  # held by the request that refreshes these numbers
        self.runs: dict[str, Any] = {}  # finished runs, for the review page
        self.grades: dict[str, Any] = {}  # weights of words for highlighting, by run
        # Saved results that label texts for scripts, by run; the least recently used first.
        self.models: dict[str, Any] = {}
        self.loading = threading.Lock()  # held while a saved result is loaded, so that only one is loaded at a time

    def enter(self, session: Session, path: str) -> tuple[Any, tuple[Any, str] | None]:
        """Return the person of a session and the project of the address; called for every request.

        Parameters
        ----------
        session : Session
            Session from the cookie.
        path : str
            Path of the address.

        Returns
        -------
        tuple[Any, tuple[Any, str] or None]
            The person, or None without a valid session; and the project with the person's role in it, or None.
        """
        workspace, project = self.workspace, project_in(path)
        if self.settings.accounts:
            signed_in = session.person is not None and session.stamp is not None
            person = workspace.people.behind(session.person, session.stamp, session.key) if signed_in else None
            return person, self.enter_project(person, project) if person and project else None
        person = workspace.people.local()
        return person, self.enter_project(person, project) if project else None

    def enter_project(self, person: Any, project: str) -> tuple[Any, str] | None:
        """Return a project with a person's role in it.

        Parameters
        ----------
        person : Any
            The person.
        project : str
            Id of the project.

        Returns
        -------
        tuple[Any, str] or None
            Project and role, or None if the project does not exist or the person is no member.
        """
        if self.settings.accounts:
            return self.workspace.projects.seen_by(project, person.id)
        try:
            return self.workspace.projects.get(project), OWNER
        except IsthmusError as error:
            if error.code == "not-found":
                return None
            raise  # other errors, such as an unavailable database, do not mean that the project is missing

    def projects_of(self, person: Any, *, archived: bool = False) -> list[Any]:
        """Return the projects that a person can see; without accounts, all projects.

        Parameters
        ----------
        person : Any
            The person.
        archived : bool, default=False
            Whether to include archived projects.

        Returns
        -------
        list[Any]
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
        The id, or "" if the address names no project.
    """
    parts = path.removeprefix("/api").split("/", 3)
    return parts[2] if len(parts) > 2 and parts[1] == "projects" else ""


def make_templates() -> Any:
    """Build the template environment from the workbench's and the report's templates.

    Returns
    -------
    Any
        The environment, with filters for both.
    """
    environment = make_environment(resources.files("isthmus.workbench") / "templates" / "pages.html.j2")
    environment.filters["when"] = when
    environment.filters["size"] = in_bytes
    environment.filters["tinted"] = tinted
    environment.globals |= {"plural": plural, "bits": environment.get_template("bits").module}
    return environment


def when(moment: datetime | str | None) -> str:
    """Return a time in UTC as text, for pages.

    Parameters
    ----------
    moment : datetime | str or None
        Time, or its ISO 8601 form.

    Returns
    -------
    str
        Date and time to the minute, or a dash for None.
    """
    if moment is None:
        return "–"
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%d %H:%M")


def in_bytes(size: float | None) -> str:
    """Return a size with a unit, for pages.

    Parameters
    ----------
    size : float or None
        Bytes.

    Returns
    -------
    str
        Text such as "1.5 MB".
    """
    size = float(size or 0)
    for unit in ("B", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def tinted(text: str, words: dict | None, code: int) -> list[tuple[str, str]]:
    """Split a text into chunks with their highlighting.

    Parameters
    ----------
    text : str
        Text of a document.
    words : dict or None
        Weights of each word by class, or None.
    code : int
        Index of the class.

    Returns
    -------
    list[tuple[str, str]]
        Chunks with the names of their tints; one chunk without tint if the words or the class are unknown.
    """
    width = len(next(iter(words.values()))) if words else 0
    return tint(text, words or {}, code) if 0 <= code < width else [(text, "")]


def get_bench(request: Request) -> Bench:
    """Return the state of the server for a request.

    Parameters
    ----------
    request : Request
        Request of the browser or client.

    Returns
    -------
    Bench
        The state.
    """
    return request.app.state.bench


async def bench_now(request: Request) -> Bench:
    """Return the state of the server as a dependency; asynchronous, so that it needs no thread.

    Parameters
    ----------
    request : Request
        Request of the browser or client.

    Returns
    -------
    Bench
        The state.
    """
    return get_bench(request)


BenchNow = Annotated[Bench, Depends(bench_now)]


Field = Annotated[str, Form(max_length=2_000)]  # field of an HTML form


class SignInNeeded(Exception):
    """Raised when somebody who has not signed in requests a page."""


async def signed_in(request: Request) -> Any:
    """Return the signed-in person, or redirect to the sign-in page.

    Parameters
    ----------
    request : Request
        Request of the browser or client.

    Returns
    -------
    Any
        The person.

    Raises
    ------
    SignInNeeded
        If nobody has signed in.
    """
    person = request.state.person
    if person is None:
        raise SignInNeeded
    return person


Person = Annotated[Any, Depends(signed_in)]


@dataclass
class Access:
    """A project as one person sees it."""

    bench: Bench
    project: Any
    person: Any
    role: str
    request: Any = None

    @property
    def workspace(self) -> Any:
        """The workspace."""
        return self.bench.workspace

    @property
    def by(self) -> str:
        """Id of the person, for recording changes."""
        return self.person.id

    def may(self, role: str) -> bool:
        """Return whether the person has at least a role in the project.

        Parameters
        ----------
        role : str
            Role that an action needs.

        Returns
        -------
        bool
            True if the person has the role or a higher one.
        """
        return ROLES.index(self.role) >= ROLES.index(role)


def access(needed: str):
    """Return a dependency that provides a project to people with at least a given role.

    A missing project and a project of other people give the same answer.

    Parameters
    ----------
    needed : str
        Lowest role that may use the address.

    Returns
    -------
    object
        Dependency for FastAPI.
    """

    async def enter(request: Request, project: str, bench: BenchNow, person: Person) -> Access:
        """Return the project of the address if the person has the role."""
        seen = request.state.seen  # the gate has looked it up together with the person
        if seen is None or seen[0].id != project:
            raise HTTPException(404, "There is no such project here.")
        entered = Access(bench, seen[0], person, seen[1], request)
        if not entered.may(needed):
            raise HTTPException(403, f"This needs the role {needed}; your role here is {entered.role}.")
        return entered

    enter.__name__ = f"as_{needed}"
    enter.needed = needed  # type: ignore[attr-defined]  # a test checks that every address requires a role
    return enter


Viewer = Annotated[Access, Depends(access("viewer"))]
Reviewer = Annotated[Access, Depends(access("reviewer"))]
Owner = Annotated[Access, Depends(access("owner"))]


async def workspace_owner(bench: BenchNow, person: Person) -> Any:
    """Return the person if they may invite people and change accounts.

    Parameters
    ----------
    bench : BenchNow
        State of the server.
    person : Person
        The signed-in person.

    Returns
    -------
    Any
        The person.

    Raises
    ------
    HTTPException
        If the person is no owner of the workspace.
    """
    if bench.settings.accounts and person.role != "owner":
        raise HTTPException(403, "Only owners of the workspace can do this.")
    return person


WorkspaceOwner = Annotated[Any, Depends(workspace_owner)]


def page(request: Request, name: str, /, status: int = 200, access: Access | None = None, **facts: Any) -> HTMLResponse:
    """Render a page.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    name : str
        Name of the template.
    status : int, default=200
        HTTP status.
    access : Access, optional
        The project and the person's role in it, for pages of a project.
    **facts : Any
        Values for the template.

    Returns
    -------
    HTMLResponse
        The page.
    """
    bench = get_bench(request)
    state = request.state
    text = bench.templates.get_template(name).render(
        {
            "request": request,
            "path": request.url.path,
            "person": getattr(state, "person", None),
            "accounts": bench.settings.accounts,
            "csrf": bench.cookies.csrf(state.session),
            "access": access,
            "home": f"/projects/{access.project.id}" if access else "",
            "nav": None,
            # Token of an answer given on this page, so that a repeated click adds nothing.
            "now": datetime.now(UTC).isoformat(),
            **facts,
        }
    )
    # Texts may contain halves of surrogate pairs, which UTF-8 cannot encode.
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


def go_to(access: Access, *parts: str, query: str = "") -> Response:
    """Redirect to a page of the project.

    Parameters
    ----------
    access : Access
        The project.
    *parts : str
        Parts of the address after the project.
    query : str, default=""
        Query with its question mark.

    Returns
    -------
    Response
        The redirect.
    """
    return go(access.request, at("projects", access.project.id, *parts) + query)


def wants_part(request: Request) -> bool:
    """Return whether a script of the page requests a part of it.

    Parameters
    ----------
    request : Request
        Request of the browser or client.

    Returns
    -------
    bool
        True for a request of htmx.
    """
    return request.headers.get("hx-request") == "true"


def go(request: Request, address: str) -> Response:
    """Redirect the browser after a change.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    address : str
        Address of the next page.

    Returns
    -------
    Response
        The redirect.
    """
    if wants_part(request):
        # htmx would insert the target of an ordinary redirect into the page.
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def at(*parts: str) -> str:
    """Return an address with quoted parts.

    Parameters
    ----------
    *parts : str
        Parts of the path.

    Returns
    -------
    str
        The path.
    """
    return "/" + "/".join(quote(part, safe="") for part in parts)
