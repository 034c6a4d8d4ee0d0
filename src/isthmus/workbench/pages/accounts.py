"""Signing in and out, invitations, accounts."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from isthmus.exceptions import IsthmusError
from isthmus.workbench import api, service
from isthmus.workbench.context import Bench, BenchNow, Field, Person, WorkspaceOwner, go, page
from isthmus.workbench.service import TooManyTries, require_accounts

router = APIRouter(include_in_schema=False)


def safe_next(address: str) -> str:
    """A page of this server; anything else leads to the projects.

    >>> safe_next("/projects/1"), safe_next("//evil.example"), safe_next("https://evil.example")
    ('/projects/1', '/projects', '/projects')
    """
    is_local = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_local else "/projects"


def enter(request: Request, person: Person, address: str = "/projects") -> Response:
    response = RedirectResponse(address, status_code=303)
    service.start_session(request, response, person)
    return response


@router.get("/sign-in")
def sign_in_form(request: Request, bench: BenchNow, next: str = "/projects"):
    if request.state.person is not None:
        return RedirectResponse(safe_next(next), status_code=303)
    return page(request, "sign_in", trouble="", name="", next=safe_next(next))


@router.post("/sign-in")
def sign_in(request: Request, bench: BenchNow, name: Field = "", password: Field = "", next: Field = "/projects"):
    require_accounts(bench)
    trouble = "The name or the password is wrong."
    status = 401
    try:
        person = service.sign_in_person(request, name, password)
    except TooManyTries as error:
        person = None
        trouble = error.detail
        status = 429
    if person is None:
        return page(request, "sign_in", status=status, trouble=trouble, name=name, next=safe_next(next))
    return enter(request, person, safe_next(next))


@router.post("/sign-out")
def sign_out(request: Request, bench: BenchNow, everywhere: Field = ""):
    response = RedirectResponse("/sign-in" if bench.settings.accounts else "/projects", status_code=303)
    if request.state.person is not None:
        service.end_session(request, response, everywhere=bool(everywhere))
    return response


@router.get("/join/{token}")
def join_form(request: Request, bench: BenchNow, token: str):
    """The form behind an invitation; the link is used up only when it is sent."""
    require_accounts(bench)
    return page(request, "join", trouble="", name="")


@router.post("/join/{token}")
def join(request: Request, bench: BenchNow, token: str, name: Field = "", password: Field = ""):
    require_accounts(bench)
    try:
        return enter(request, service.join(request, token, name, password))
    except IsthmusError as error:
        return page(request, "join", status=422, trouble=str(error), name=name)


@router.get("/people")
def people(request: Request, bench: BenchNow, person: WorkspaceOwner):
    return people_page(request, bench, person)


def people_page(request: Request, bench: Bench, person: Person, *, token: str = "", invited: str = "", reset: str = ""):
    """The page of accounts; with the link of a new token, and for which role or person it is."""
    place = "join" if invited else "password"
    link = f"{request.url.scheme}://{request.url.netloc}/{place}/{token}" if token else None
    facts = {"people": bench.workspace.people.list(), "projects": bench.projects_of(person)}
    return page(request, "people", link=link, invited=invited, reset=reset, **facts)


@router.post("/people/invitations")
def invite(request: Request, bench: BenchNow, person: WorkspaceOwner, role: Field = "reviewer", project: Field = ""):
    token = service.invite(bench, person, role, project)
    return people_page(request, bench, person, token=token, invited=role)


@router.post("/people/{other}/role")
def set_role(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str, role: Field):
    service.set_role(bench, person, other, role)
    return go(request, "/people")


@router.post("/people/{other}/disable")
def disable(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str, hand_over_to: Field = ""):
    api.close_account(bench, person, other, hand_over_to)
    return go(request, "/people")


@router.post("/people/{other}/enable")
def enable(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str):
    bench.workspace.people.enable(other, by=person.id)
    return go(request, "/people")


@router.post("/people/{other}/password-link")
def password_link(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str):
    found, token = service.make_password_link(bench, person, other)
    return people_page(request, bench, person, token=token, reset=found.name)


@router.get("/password/{token}")
def password_form(request: Request, bench: BenchNow, token: str):
    return page(request, "password", trouble="", own=False)


@router.post("/password/{token}")
def set_password(request: Request, bench: BenchNow, token: str, password: Field = ""):
    try:
        return enter(request, service.use_password_link(request, token, password))
    except IsthmusError as error:
        return page(request, "password", status=422, trouble=str(error), own=False)


@router.get("/account")
def account(request: Request, person: Person):
    return page(request, "password", trouble="", own=True)


@router.post("/account/password")
def change_password(request: Request, person: Person, old: Field = "", password: Field = ""):
    try:
        return enter(request, service.change_own_password(request, person, old, password))
    except IsthmusError as error:
        return page(request, "password", status=422, trouble=str(error), own=True)
