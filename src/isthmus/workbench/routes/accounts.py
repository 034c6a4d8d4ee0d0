"""Signing in and out, invitations, passwords, and the accounts of a workspace."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import create_model

from isthmus._utils import plural
from isthmus.exceptions import IsthmusError, UsageError
from isthmus.workbench.context import (
    Bench,
    BenchNow,
    Fields,
    SignedIn,
    Text,
    TextField,
    WorkspaceOwner,
    get_bench,
    remember,
)
from isthmus.workbench.render import page
from isthmus.workspace.people import fold_name
from isthmus.workspace.schema import OWNER, Person

api = APIRouter(prefix="/api")
pages = APIRouter(include_in_schema=False)
Role = Literal["viewer", "reviewer", "owner"]
_FAMILIAR = 10_000  # pairs of address and account kept in memory
# Answers: the signed-in person with the token for changes, and what owners see of an account.
SessionOut: Any = create_model(
    "SessionOut", person=(str | None, None), name=(str | None, None), role=(str | None, None), csrf=str
)
PersonOut: Any = create_model("PersonOut", id=str, name=str, role=str, disabled=bool)


# -- The session


class TooManyTries(HTTPException):
    """Raised for attempts to sign in that come too fast."""

    def __init__(self, seconds: float):
        minutes = max(1, math.ceil(seconds / 60))
        super().__init__(
            429,
            f"Too many wrong passwords; try again in {plural(minutes, 'minute')}.",
            headers={"Retry-After": str(math.ceil(seconds))},
        )


@api.get("/session", tags=["session"], response_model=SessionOut)
def session(request: Request, bench: BenchNow) -> dict[str, str]:
    """Return the signed-in person, and the token that every change must carry in the header X-CSRF-Token."""
    # Without a session the token is still needed, to sign in.
    person, token = request.state.person, bench.cookies.csrf(request.state.session)
    return {"csrf": token} | ({"person": person.id, "name": person.name, "role": person.role} if person else {})


@api.post("/session", tags=["session"], response_model=SessionOut)
def sign_in(
    request: Request,
    response: Response,
    bench: BenchNow,
    name: Annotated[Text, Body()],
    password: Annotated[Text, Body()],
) -> dict[str, str]:
    """Sign in; this creates a new cookie and a new token."""
    require_accounts(bench)
    person = check_password(request, name, password)
    if person is None:
        raise HTTPException(401, "The name or the password is wrong.")
    return start_session(request, response, person)


@api.delete("/session", tags=["session"])
def sign_out(
    request: Request, response: Response, bench: BenchNow, person: SignedIn, everywhere: bool = False
) -> dict[str, bool]:
    """End this session, or every session of this person."""
    if bench.settings.accounts and everywhere:
        bench.workspace.people.end_sessions(person.id, by=person.id)
    elif bench.settings.accounts:
        # The cookie expires by then in any case, so the record can be deleted.
        until = datetime.now(UTC) + timedelta(seconds=bench.settings.session_seconds)
        bench.workspace.people.end_session(person.id, request.state.session.key, until, by=person.id)
    response.headers["set-cookie"] = bench.cookies.header(bench.cookies.new())
    return {"signed_out": True}


def require_accounts(bench: Bench) -> None:
    """Raise an error if people do not sign in on this server.

    Parameters
    ----------
    bench : Bench
        State of the server.

    Raises
    ------
    HTTPException
        If the server works without accounts.
    """
    if not bench.settings.accounts:
        raise HTTPException(404, "Sign-in is off; the server accepts local connections only.")


def check_password(request: Request, name: str, password: str) -> Person | None:
    """Return the person with a name and a password; guessing is slowed down by account and by address.

    Parameters
    ----------
    request : Request
        The request.
    name : str
        Name of the account.
    password : str
        The password.

    Returns
    -------
    Person or None
        The person; None if the name or the password is wrong.

    Raises
    ------
    TooManyTries
        If there were too many failures.
    """
    bench, address, account = get_bench(request), address_of(request), fold_name(name)
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
    remember(bench.familiar, key, None, _FAMILIAR)
    bench.workspace.audit.note("sign-in", by=person.id, subject=person.id, address=address)
    return person


def address_of(request: Request) -> str:
    """Return the address of a client.

    Parameters
    ----------
    request : Request
        The request.

    Returns
    -------
    str
        The address, or "unknown".
    """
    return request.client.host if request.client else "unknown"


def start_session(request: Request, response: Response, person: Person) -> dict[str, str]:
    """Start a session for a person.

    Parameters
    ----------
    request : Request
        The request.
    response : Response
        Response that gets the cookie.
    person : Person
        The person.

    Returns
    -------
    dict
        The new session.
    """
    bench = get_bench(request)
    request.state.session, request.state.person = bench.cookies.new(person.id, person.session_key), person
    response.headers["set-cookie"] = bench.cookies.header(request.state.session)
    return session(request, bench)


@pages.get("/sign-in")
def sign_in_page(request: Request, next: str = "/projects"):
    """Show the form for signing in; browsers read "//" as the beginning of another host, so it is not followed."""
    is_local = next.startswith("/") and not next.startswith(("//", "/\\")) and next.isprintable()
    next = next if is_local else "/projects"
    if request.state.person is not None:
        return RedirectResponse(next, status_code=303)
    return page(request, "sign_in", next=next)


# -- Passwords and invitations


@api.post("/join/{token}", tags=["session"], response_model=SessionOut)
def join(
    request: Request, response: Response, token: str, name: Annotated[Text, Body()], password: Annotated[Text, Body()]
) -> dict[str, str]:
    """Create an account by an invitation, and sign in."""
    bench = slowly(request)
    try:
        person = bench.workspace.people.accept(token, name, bench.passwords.hash(password))
    except IsthmusError:
        bench.by_address.failed(address_of(request))
        raise
    return start_session(request, response, person)


@api.post("/password/{token}", tags=["session"], response_model=SessionOut)
def set_password(request: Request, response: Response, token: str, password: TextField) -> dict[str, str]:
    """Set a new password by a token, and sign in."""
    # The token replaces a signed-in session, so this address needs none.
    bench = slowly(request)
    id = bench.links.read(token)
    person = bench.workspace.people.get(id) if id else None
    if person is None or not bench.links.holds(token, person):
        bench.by_address.failed(address_of(request))
        raise HTTPException(404, "This link was used already, has expired or is wrong; ask an owner for another.")
    changed = bench.workspace.people.set_password(person.id, bench.passwords.hash(password), by=person.id)
    return start_session(request, response, changed)


@api.post("/password", tags=["session"], response_model=SessionOut)
def change_password(
    request: Request,
    response: Response,
    bench: BenchNow,
    person: SignedIn,
    old: Annotated[Text, Body()],
    password: Annotated[Text, Body()],
) -> dict[str, str]:
    """Change your own password; all your other sessions end."""
    require_accounts(bench)
    if check_password(request, person.name, old) is None:
        raise UsageError("The old password is wrong.")
    changed = bench.workspace.people.set_password(person.id, bench.passwords.hash(password), by=person.id)
    return start_session(request, response, changed)


def slowly(request: Request) -> Bench:
    """Return the state of the server for a request with a token; guessing tokens is slowed down by address.

    Parameters
    ----------
    request : Request
        The request.

    Returns
    -------
    Bench
        State of the server.

    Raises
    ------
    TooManyTries
        If the address has failed too often.
    """
    bench = get_bench(request)
    require_accounts(bench)
    if wait := bench.by_address.wait(address_of(request)):
        raise TooManyTries(wait)
    return bench


@pages.get("/join/{token}")
def join_page(request: Request, bench: BenchNow, token: str):
    """Show the form for a new account."""
    require_accounts(bench)
    return page(request, "join", token=token)


@pages.get("/password/{token}")
def password_page(request: Request, token: str):
    """Show the form for a new password."""
    return page(request, "password", token=token)


@pages.get("/account")
def account_page(request: Request, person: SignedIn):
    """Show the form for another password."""
    return page(request, "password", token="")


# -- Accounts


@api.get("/people", tags=["people"], response_model=list[PersonOut])
def people(bench: BenchNow, person: WorkspaceOwner) -> list[Person]:
    """List the accounts."""
    return bench.workspace.people.list()


@api.post("/people/invitations", tags=["people"])
def invite(
    request: Request,
    bench: BenchNow,
    person: WorkspaceOwner,
    role: Annotated[Role, Body()],
    project: Annotated[Text | None, Body()] = None,
) -> dict[str, str]:
    """Create a token and a link for one new account."""
    # A project of other people gives the same answer as a missing one.
    if project and bench.workspace.projects.role(project, person.id) != OWNER:
        raise HTTPException(404, "There is no such project here.")
    token = bench.workspace.people.invite(role, by=person.id, project=project or None)
    return {"token": token, "link": f"{request.base_url}join/{token}"}


class Account(Fields):
    """Changes of an account: its role, and whether it is closed."""

    role: Role | None = None
    disabled: bool | None = None
    hand_over_to: Text | None = None


@api.patch("/people/{other}", tags=["people"], response_model=PersonOut)
def change_person(bench: BenchNow, person: WorkspaceOwner, other: str, body: Account) -> Person:
    """Change a role, close an account or open it again."""
    accounts = bench.workspace.people
    found = accounts.get(other)
    if body.role is not None or body.disabled:
        refuse_self(person.id, other)
    if body.role is not None:
        found = accounts.set_role(other, body.role, by=person.id)
    # None leaves the account unchanged, False opens it.
    if body.disabled is False:
        found = accounts.enable(other, by=person.id)
    if body.disabled:
        found = accounts.disable(other, by=person.id, hand_over_to=body.hand_over_to or None)
    return found


@api.delete("/people/{other}", tags=["people"], response_model=PersonOut)
def close_account(
    bench: BenchNow,
    person: WorkspaceOwner,
    other: str,
    hand_over_to: Annotated[
        str | None, Query(max_length=200, description="who gets projects without another owner")
    ] = None,
) -> Person:
    """Close an account; the person's decisions stay."""
    return change_person(bench, person, other, Account(disabled=True, hand_over_to=hand_over_to))


@api.post("/people/{other}/password-link", tags=["people"])
def password_link(request: Request, bench: BenchNow, person: WorkspaceOwner, other: str) -> dict[str, str]:
    """Create a token and a link for setting a new password; it works once, within a day."""
    found = bench.workspace.people.get(other)
    if found.disabled or found.password_hash is None:
        raise HTTPException(422, "This account cannot sign in, so a new password would have no effect.")
    bench.workspace.audit.note("password link made", by=person.id, subject=found.id)
    token = bench.links.make(found)
    return {"token": token, "link": f"{request.base_url}password/{token}"}


def refuse_self(person: str, other: str) -> None:
    """Raise an error if people change their own account or membership.

    Parameters
    ----------
    person : str
        Id of the signed-in person.
    other : str
        Id of the changed person.

    Raises
    ------
    HTTPException
        If both are the same.
    """
    if person == other:
        raise HTTPException(422, "Another owner has to do this for you.")


@pages.get("/people")
def people_page(request: Request, bench: BenchNow, person: WorkspaceOwner) -> Any:
    """Show the accounts, with forms for invitations and roles."""
    return page(request, "people", people=bench.workspace.people.list(), projects=bench.projects_of(person))
