"""Signing in and out, invitations, accounts."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from isthmus._utils import plural
from isthmus.exceptions import IsthmusError
from isthmus.workbench.context import BenchNow, Person, WorkspaceOwner, get_bench, go, page

router = APIRouter(include_in_schema=False)
Field = Annotated[str, Form(max_length=2_000)]


class TooManyTries(HTTPException):
    """Somebody guesses."""

    def __init__(self, seconds: float):
        minutes = max(1, math.ceil(seconds / 60))
        super().__init__(
            429,
            f"Too many wrong passwords; try again in {plural(minutes, 'minute')}.",
            headers={"Retry-After": str(math.ceil(seconds))},
        )


def sign_in_person(request: Request, name: str, password: str):
    """The person with this name and password, or None; slowed down for whoever guesses."""
    bench = get_bench(request)
    address = request.client.host if request.client else "unknown"
    key = f"{address} {name.strip().casefold()[:200]}"
    wait = max(bench.by_name.wait(key), bench.by_address.wait(address))
    if wait:
        raise TooManyTries(wait)
    person = bench.workspace.people.by_name(name)
    kept = None if person is None or person.disabled else person.password_hash
    if not bench.passwords.verify(kept, password):
        bench.by_name.failed(key)
        bench.by_address.failed(address)
        bench.workspace.audit.note("sign-in refused", by=None, name=name[:200], address=address)
        return None
    bench.by_name.cleared(key)
    bench.workspace.audit.note("sign-in", by=person.id, subject=person.id, address=address)
    return person


def start_session(request: Request, response: Response, person) -> None:
    """Hand the browser a session that did not exist before."""
    bench = get_bench(request)
    session = bench.cookies.new(person.id, person.session_key)
    response.headers["set-cookie"] = bench.cookies.header(session)
    request.state.session = session


def safe_next(address: str) -> str:
    """A page of this server; anything else leads to the projects.

    Examples
    --------
    >>> from isthmus.workbench.pages.accounts import safe_next
    >>> safe_next("/projects/1"), safe_next("//evil.example"), safe_next("https://evil.example")
    ('/projects/1', '/projects', '/projects')
    """
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if plain else "/projects"


@router.get("/sign-in")
def sign_in_form(request: Request, bench: BenchNow, next: str = "/projects"):
    """The form."""
    if request.state.person is not None:
        return RedirectResponse(safe_next(next), status_code=303)
    return page(request, "sign_in.html.j2", trouble="", name="", next=safe_next(next))


@router.post("/sign-in")
def sign_in(request: Request, bench: BenchNow, name: Field = "", password: Field = "", next: Field = "/projects"):
    """Try a name and a password."""
    if not bench.settings.accounts:
        raise HTTPException(404, "Nobody signs in here: only this machine is answered.")
    trouble, status = "The name or the password is wrong.", 401
    try:
        person = sign_in_person(request, name, password)
    except TooManyTries as error:
        person, trouble, status = None, error.detail, 429
    if person is None:
        return page(request, "sign_in.html.j2", status=status, trouble=trouble, name=name, next=safe_next(next))
    response = RedirectResponse(safe_next(next), status_code=303)
    start_session(request, response, person)
    return response


@router.post("/sign-out")
def sign_out(request: Request, bench: BenchNow, everywhere: Field = ""):
    """End this session; or, if asked, every session of this person."""
    response = RedirectResponse("/sign-in" if bench.settings.accounts else "/projects", status_code=303)
    if request.state.person is not None:
        end_session(request, response, everywhere=bool(everywhere))
    return response


def end_session(request: Request, response: Response, *, everywhere: bool) -> None:
    """What was signed in is not any more: the cookie is worthless even where somebody kept a copy of it."""
    bench, person = get_bench(request), request.state.person
    if bench.settings.accounts and everywhere:
        bench.workspace.people.end_sessions(person.id, by=person.id)
    elif bench.settings.accounts:
        until = datetime.now(UTC) + timedelta(seconds=bench.settings.session_seconds)
        bench.workspace.people.end_session(person.id, request.state.session.key, until, by=person.id)
    response.headers["set-cookie"] = bench.cookies.header(bench.cookies.new())


@router.get("/join/{token}")
def join_form(request: Request, bench: BenchNow, token: str):
    """The form behind an invitation; the link is used up only when it is sent."""
    if not bench.settings.accounts:
        raise HTTPException(404, "There are no invitations here: only this machine is answered.")
    return page(request, "join.html.j2", trouble="", name="")


@router.post("/join/{token}")
def join(request: Request, bench: BenchNow, token: str, name: Field = "", password: Field = ""):
    """Make the account that an invitation promises."""
    if not bench.settings.accounts:
        raise HTTPException(404, "There are no invitations here: only this machine is answered.")
    address = request.client.host if request.client else "unknown"
    if wait := bench.by_address.wait(address):
        raise TooManyTries(wait)
    try:
        person = bench.workspace.people.accept(token, name, bench.passwords.hash(password))
    except IsthmusError as error:
        bench.by_address.failed(address)
        return page(request, "join.html.j2", status=422, trouble=str(error), name=name)
    response = RedirectResponse("/projects", status_code=303)
    start_session(request, response, person)
    return response


@router.get("/people")
def people(request: Request, bench: BenchNow, person: WorkspaceOwner):
    """Accounts."""
    return people_page(request, bench, person)


def people_page(request: Request, bench, person, **facts):
    """The page of accounts, with a new invitation if there is one."""
    workspace = bench.workspace
    facts = {"link": None, "invited": "", **facts}
    return page(
        request, "people.html.j2", people=workspace.people.list(), projects=workspace.projects.list(person.id), **facts
    )


@router.post("/people/invitations")
def invite(request: Request, bench: BenchNow, person: WorkspaceOwner, role: Field = "reviewer", project: Field = ""):
    """Make a link that works once."""
    if project and bench.workspace.projects.role(project, person.id) != "owner":
        raise HTTPException(404, "There is no such project here.")
    token = bench.workspace.people.invite(role, by=person.id, project=project or None)
    link = f"{request.url.scheme}://{request.url.netloc}/join/{token}"
    return people_page(request, bench, person, link=link, invited=role)


@router.post("/people/{other}/role")
def set_role(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str, role: Field):
    """Give another role."""
    refuse_self(person, other)
    bench.workspace.people.set_role(other, role, by=person.id)
    return go(request, "/people")


@router.post("/people/{other}/disable")
def disable(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str):
    """Close an account; its answers stay."""
    refuse_self(person, other)
    bench.workspace.people.disable(other, by=person.id)
    return go(request, "/people")


def refuse_self(person: Person, other: str) -> None:
    """Nobody locks themselves out."""
    if person.id == other:
        raise HTTPException(422, "Another owner has to do this for you.")
