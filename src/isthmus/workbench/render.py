"""How pages are rendered: templates, filters, navigation, and redirections."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from isthmus._utils import plural
from isthmus.report.listing import tint
from isthmus.report.page import make_environment
from isthmus.workbench.context import Access, get_bench


@cache
def make_templates() -> Any:
    """Return the environment of jinja with the templates of the pages.

    Returns
    -------
    jinja2.Environment
        The environment.
    """
    environment = make_environment(resources.files("isthmus.workbench") / "templates" / "pages.html.j2")
    environment.filters |= {"when": when, "size": in_bytes, "tinted": tinted}
    environment.globals |= {"plural": plural, "bits": environment.get_template("bits").module}
    return environment


def when(moment: datetime | None) -> str:
    """Return a time in UTC as people read it.

    Parameters
    ----------
    moment : datetime or None
        The time.

    Returns
    -------
    str
        Date, hours and minutes, or a dash.
    """
    return "–" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def in_bytes(size: float | None) -> str:
    """Return a size in bytes with a fitting unit.

    Parameters
    ----------
    size : float or None
        Number of bytes.

    Returns
    -------
    str
        The size, such as "1.5 MB".
    """
    size = float(size or 0)
    for unit in ("B", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def tinted(text: str, words: dict | None, code: int) -> list[tuple[str, str]]:
    """Return a text in parts, with the class of the style sheet for each part.

    Parameters
    ----------
    text : str
        The text.
    words : dict or None
        Weights of words for each class.
    code : int
        Number of the class; a class without weights leaves the text as it is.

    Returns
    -------
    list[tuple[str, str]]
        Parts of the text with their classes.
    """
    width = len(next(iter(words.values()))) if words else 0
    return tint(text, words or {}, code) if 0 <= code < width else [(text, "")]


def page(request: Request, name: str, /, status: int = 200, access: Access | None = None, **facts: Any) -> HTMLResponse:
    """Render a template.

    Parameters
    ----------
    request : Request
        The request.
    name : str
        Name of the template.
    status : int, default=200
        Status of the answer.
    access : Access, optional
        Access to the project of the page.
    **facts : Any
        Values for the template.

    Returns
    -------
    HTMLResponse
        The page.
    """
    bench, state = get_bench(request), request.state
    text = (
        make_templates()
        .get_template(name)
        .render(
            {
                "request": request,
                "person": state.person,
                "accounts": bench.settings.accounts,
                "csrf": bench.cookies.csrf(state.session),
                "access": access,
                "home": f"/projects/{access.id}" if access else "",
                "api": f"/api/projects/{access.id}" if access else "/api",
                "nav": None,
                # Token of an answer given on this page, so that a repeated click adds nothing.
                "now": datetime.now(UTC).isoformat(),
                **facts,
            }
        )
    )
    # Texts may contain halves of surrogate pairs, which UTF-8 cannot encode.
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


def part(access: Access, name: str, /, **facts: Any) -> HTMLResponse:
    """Render a part of a project's page.

    Parameters
    ----------
    access : Access
        Access to the project.
    name : str
        Name of the template.
    **facts : Any
        Values for the template.

    Returns
    -------
    HTMLResponse
        The part.
    """
    return page(access.request, name, access=access, **facts)


# Sections of a project's navigation: parts of addresses with their titles.
_SECTIONS = (
    ("Prepare", (("", "Overview"), ("/data", "Data"), ("/diagnosis", "Diagnosis"))),
    ("Label", (("/runs", "Runs"), ("/documents", "Documents"), ("/groups", "Groups"))),
    ("Decide", (("/review", "Review"), ("/words", "Words"), ("/check", "Check"))),
    ("Use", (("/compare", "Compare"), ("/export", "Export"), ("/history", "History"))),
)


def project_page(access: Access, name: str, /, **facts: Any) -> HTMLResponse:
    """Render a page of a project with its navigation.

    Parameters
    ----------
    access : Access
        Access to the project.
    name : str
        Name of the template.
    **facts : Any
        Values for the template.

    Returns
    -------
    HTMLResponse
        The page.
    """
    here = access.request.url.path.removeprefix(f"/projects/{access.id}")
    # The overview is the beginning of every address, so only its exact address counts as present.
    nav = [
        (heading, [(place, title, here == place or (place and here.startswith(place + "/"))) for place, title in links])
        for heading, links in _SECTIONS
    ]
    return part(access, name, nav=nav, **facts)


def wants_part(request: Request) -> bool:
    """Return whether the script of a page asks for a part of it.

    Parameters
    ----------
    request : Request
        The request.

    Returns
    -------
    bool
        True if so.
    """
    return request.headers.get("hx-request") == "true"


def go(request: Request, address: str) -> Response:
    """Send a browser to another page.

    Parameters
    ----------
    request : Request
        The request.
    address : str
        Address of the page.

    Returns
    -------
    Response
        A redirection.
    """
    if wants_part(request):
        # htmx would insert the target of an ordinary redirect into the page.
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, status_code=303)


def at(*parts: str) -> str:
    """Return an address.

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
