"""What every page can reach: the workspace, the templates, who is speaking and what they may do."""

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
    def __init__(self, workspace: Any, settings: Settings):
        self.workspace, self.settings = workspace, settings
        self.cookies = Cookies(settings)
        self.passwords = Passwords()
        self.links = PasswordLinks(settings)
        self.by_name = RateLimiter(5, 900)  # of one address for one account
        self.by_address = RateLimiter(30, 900)
        self.by_account = RateLimiter(50, 900)  # from all addresses together
        self.familiar: dict[str, None] = {}  # addresses and accounts that signed in with the right password
        self.templates = make_templates()
        self.tallies: dict[str, Any] = {}  # numbers above the queue by run, some seconds old
        self.counting = threading.Lock()  # whoever holds it counts them anew
        self.runs: dict[str, Any] = {}  # runs that are done, for the desk
        self.grades: dict[str, Any] = {}  # weights of words for the tints, by run
        self.models: dict[str, Any] = {}  # saved results that label texts of programs, by run; the latest used last
        self.loading = threading.Lock()  # one of them is read at a time

    def enter(self, session: Session, path: str) -> tuple[Any, tuple[Any, str] | None]:
        """The person behind a session, and the project of the address with their role in it: for every request.

        None for who has not signed in, or does not see the project.
        """
        workspace, project = self.workspace, project_in(path)
        if self.settings.accounts:
            signed_in = session.person is not None and session.stamp is not None
            person = workspace.people.behind(session.person, session.stamp, session.key) if signed_in else None
            return person, self.enter_project(person, project) if person and project else None
        person = workspace.people.local()
        return person, self.enter_project(person, project) if project else None

    def enter_project(self, person: Any, project: str) -> tuple[Any, str] | None:
        """A project and the role of a person in it; None: there is none that they see."""
        if self.settings.accounts:
            return self.workspace.projects.seen_by(project, person.id)
        try:
            return self.workspace.projects.get(project), OWNER
        except IsthmusError as error:
            if error.code == "not-found":
                return None
            raise  # a database that is away says nothing about its projects

    def projects_of(self, person: Any, *, archived: bool = False) -> list[Any]:
        """Projects that a person sees; without accounts the one person sees all, also those that somebody else made."""
        return self.workspace.projects.list(person.id if self.settings.accounts else None, archived=archived)


def project_in(path: str) -> str:
    parts = path.removeprefix("/api").split("/", 3)
    return parts[2] if len(parts) > 2 and parts[1] == "projects" else ""


def make_templates() -> Any:
    """Our templates, and the report's below them, with filters for both."""
    environment = make_environment(resources.files("isthmus.workbench") / "templates" / "pages.html.j2")
    environment.filters["when"] = when
    environment.filters["size"] = in_bytes
    environment.filters["tinted"] = tinted
    environment.globals |= {"plural": plural, "bits": environment.get_template("bits").module}
    return environment


def when(moment: datetime | str | None) -> str:
    if moment is None:
        return "–"
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%d %H:%M")


def in_bytes(size: float | None) -> str:
    size = float(size or 0)
    for unit in ("B", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def tinted(text: str, words: dict | None, code: int) -> list[tuple[str, str]]:
    """A text in pieces with their tints; plain where words or the label's place are not known."""
    width = len(next(iter(words.values()))) if words else 0
    return tint(text, words or {}, code) if 0 <= code < width else [(text, "")]


def get_bench(request: Request) -> Bench:
    return request.app.state.bench


async def bench_now(request: Request) -> Bench:
    """The same as a dependency; asynchronous, so that it costs no thread."""
    return get_bench(request)


BenchNow = Annotated[Bench, Depends(bench_now)]


Field = Annotated[str, Form(max_length=2_000)]  # of a form


class SignInNeeded(Exception):
    """A page was asked for by somebody who has not signed in."""


async def signed_in(request: Request) -> Any:
    """The person who speaks; otherwise the way to the sign-in page."""
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
        return self.bench.workspace

    @property
    def by(self) -> str:
        """Under which name a change is recorded."""
        return self.person.id

    def may(self, role: str) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


def access(needed: str):
    """Dependency: the project in the address, for somebody who may do at least this.

    A project that does not exist and one that is not yours give the same answer.
    """

    async def enter(request: Request, project: str, bench: BenchNow, person: Person) -> Access:
        seen = request.state.seen  # looked up at the gate, in one go with the person
        if seen is None or seen[0].id != project:
            raise HTTPException(404, "There is no such project here.")
        entered = Access(bench, seen[0], person, seen[1], request)
        if not entered.may(needed):
            raise HTTPException(403, f"This needs the role {needed}; your role here is {entered.role}.")
        return entered

    enter.__name__ = f"as_{needed}"
    enter.needed = needed  # type: ignore[attr-defined]  # read by the test that every address asks for a role
    return enter


Viewer = Annotated[Access, Depends(access("viewer"))]
Reviewer = Annotated[Access, Depends(access("reviewer"))]
Owner = Annotated[Access, Depends(access("owner"))]


async def workspace_owner(bench: BenchNow, person: Person) -> Any:
    """Dependency: somebody who may invite people and change accounts."""
    if bench.settings.accounts and person.role != "owner":
        raise HTTPException(403, "Only owners of the workspace can do this.")
    return person


WorkspaceOwner = Annotated[Any, Depends(workspace_owner)]


def page(request: Request, name: str, /, status: int = 200, access: Access | None = None, **facts: Any) -> HTMLResponse:
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
            "now": datetime.now(UTC).isoformat(),  # the token of an answer given on this page
            **facts,
        }
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


def go_to(access: Access, *parts: str, query: str = "") -> Response:
    return go(access.request, at("projects", access.project.id, *parts) + query)


def wants_part(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


def go(request: Request, address: str) -> Response:
    """Send the reader on, after a change."""
    if wants_part(request):
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def at(*parts: str) -> str:
    return "/" + "/".join(quote(part, safe="") for part in parts)
