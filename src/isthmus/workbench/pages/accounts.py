"""Pages for signing in and out, invitations, passwords and accounts."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from isthmus.exceptions import IsthmusError
from isthmus.workbench import api, service
from isthmus.workbench.context import Bench, BenchNow, Field, Person, WorkspaceOwner, go, page
from isthmus.workbench.service import TooManyTries, require_accounts

# Scripts use the JSON interface, so the schema leaves out all pages.
router = APIRouter(include_in_schema=False)


def safe_next(address: str) -> str:
    """Return an address if it is a page of this server, else the list of projects.

    Parameters
    ----------
    address : str
        Address that a client sent.

    Returns
    -------
    str
        Address on this server.

    Examples
    --------
    >>> safe_next("/projects/1"), safe_next("//evil.example"), safe_next("https://evil.example")
    ('/projects/1', '/projects', '/projects')
    """
    # Browsers read "//" and "/\\" as the beginning of another host.
    is_local = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_local else "/projects"


def enter(request: Request, person: Person, address: str = "/projects") -> Response:
    """Sign in a person and redirect to a page.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    person : Person
        The person.
    address : str, default="/projects"
        Address of the page on this server.

    Returns
    -------
    Response
        The redirect with the cookie.
    """
    response = RedirectResponse(address, status_code=303)
    service.start_session(request, response, person)
    return response


@router.get("/sign-in")
def sign_in_form(request: Request, bench: BenchNow, next: str = "/projects"):
    """Show the form for signing in."""
    if request.state.person is not None:
        return RedirectResponse(safe_next(next), status_code=303)
    return page(request, "sign_in", trouble="", name="", next=safe_next(next))


@router.post("/sign-in")
def sign_in(request: Request, bench: BenchNow, name: Field = "", password: Field = "", next: Field = "/projects"):
    """Sign in with a name and a password."""
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
        # The name is shown again, the password is not.
        return page(request, "sign_in", status=status, trouble=trouble, name=name, next=safe_next(next))
    return enter(request, person, safe_next(next))


@router.post("/sign-out")
def sign_out(request: Request, bench: BenchNow, everywhere: Field = ""):
    """End the session, or all sessions of the person."""
    response = RedirectResponse("/sign-in" if bench.settings.accounts else "/projects", status_code=303)
    if request.state.person is not None:
        service.end_session(request, response, everywhere=bool(everywhere))
    return response


@router.get("/join/{token}")
def join_form(request: Request, bench: BenchNow, token: str):
    """Show the form of an invitation; only sending the form uses up the link."""
    require_accounts(bench)
    return page(request, "join", trouble="", name="")


@router.post("/join/{token}")
def join(request: Request, bench: BenchNow, token: str, name: Field = "", password: Field = ""):
    """Create the account of an invited person and sign in."""
    require_accounts(bench)
    try:
        # A new account is signed in without asking for the password again.
        return enter(request, service.join(request, token, name, password))
    except IsthmusError as error:
        return page(request, "join", status=422, trouble=str(error), name=name)


@router.get("/people")
def people(request: Request, bench: BenchNow, person: WorkspaceOwner):
    """Show the accounts."""
    return people_page(request, bench, person)


def people_page(request: Request, bench: Bench, person: Person, *, token: str = "", invited: str = "", reset: str = ""):
    """Show the accounts, with a new link for an invitation or a password.

    Parameters
    ----------
    request : Request
        Request of the browser or client.
    bench : Bench
        State of the server.
    person : Person
        The signed-in person.
    token : str, default=""
        Token of a new link.
    invited : str, default=""
        Role of an invited person.
    reset : str, default=""
        Name of a person who gets a new password.

    Returns
    -------
    HTMLResponse
        The page.
    """
    place = "join" if invited else "password"
    # The link has the address under which the owner reached the server.
    link = f"{request.url.scheme}://{request.url.netloc}/{place}/{token}" if token else None
    facts = {"people": bench.workspace.people.list(), "projects": bench.projects_of(person)}
    return page(request, "people", link=link, invited=invited, reset=reset, **facts)


@router.post("/people/invitations")
def invite(request: Request, bench: BenchNow, person: WorkspaceOwner, role: Field = "reviewer", project: Field = ""):
    """Create an invitation and show its link."""
    token = service.invite(bench, person, role, project)
    return people_page(request, bench, person, token=token, invited=role)


@router.post("/people/{other}/role")
def set_role(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str, role: Field):
    """Change a person's role."""
    service.set_role(bench, person, other, role)
    return go(request, "/people")


@router.post("/people/{other}/disable")
def disable(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str, hand_over_to: Field = ""):
    """Close an account."""
    api.close_account(bench, person, other, hand_over_to)
    return go(request, "/people")


@router.post("/people/{other}/enable")
def enable(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str):
    """Open a closed account again."""
    bench.workspace.people.enable(other, by=person.id)
    return go(request, "/people")


@router.post("/people/{other}/password-link")
def password_link(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str):
    """Create a link for a new password and show it."""
    found, token = service.make_password_link(bench, person, other)
    return people_page(request, bench, person, token=token, reset=found.name)


@router.get("/password/{token}")
def password_form(request: Request, bench: BenchNow, token: str):
    """Show the form behind a password link."""
    return page(request, "password", trouble="", own=False)


@router.post("/password/{token}")
def set_password(request: Request, bench: BenchNow, token: str, password: Field = ""):
    """Set a password by a link and sign in."""
    try:
        return enter(request, service.use_password_link(request, token, password))
    except IsthmusError as error:
        return page(request, "password", status=422, trouble=str(error), own=False)


@router.get("/account")
def account(request: Request, person: Person):
    """Show the form for changing one's own password."""
    return page(request, "password", trouble="", own=True)


@router.post("/account/password")
def change_password(request: Request, person: Person, old: Field = "", password: Field = ""):
    """Change one's own password."""
    try:
        return enter(request, service.change_own_password(request, person, old, password))
    except IsthmusError as error:
        return page(request, "password", status=422, trouble=str(error), own=True)
