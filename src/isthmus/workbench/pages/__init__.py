"""Pages, one module per part of the work, and functions that the pages of a project share."""

from __future__ import annotations

from typing import Any

from fastapi.responses import HTMLResponse

from isthmus.workbench.context import Access, at, page
from isthmus.workbench.service import find_run


def project_page(access: Access, name: str, /, **facts: Any) -> HTMLResponse:
    """Render a page of a project with its navigation.

    Parameters
    ----------
    access : Access
        The project and the person.
    name : str
        Name of the template.
    **facts : Any
        Values for the template.

    Returns
    -------
    HTMLResponse
        The page.
    """
    return part(access, name, nav=navigation(access), **facts)


def part(access: Access, name: str, /, **facts: Any) -> HTMLResponse:
    """Render a part of a project's page, which a script inserts into the page.

    Parameters
    ----------
    access : Access
        The project and the person.
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


def navigation(access: Access) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the links of the navigation.

    Parameters
    ----------
    access : Access
        The project.

    Returns
    -------
    list[tuple[str, list[dict[str, Any]]]]
        Headings with their links.
    """
    links = (
        ("Prepare", (("", "Overview"), ("data", "Data"), ("diagnosis", "Diagnosis"))),
        ("Label", (("runs", "Runs"), ("documents", "Documents"), ("groups", "Groups"))),
        ("Decide", (("review", "Review"), ("words", "Words"), ("check", "Check"))),
        ("Use", (("compare", "Compare"), ("export", "Export"), ("history", "History"))),
    )
    here = access.request.url.path
    return [
        (heading, [_link(access.project.id, part, title, here) for part, title in parts]) for heading, parts in links
    ]


def _link(project: str, part: str, title: str, here: str) -> dict[str, Any]:
    """Return a link with its title, and whether it leads to the present page."""
    address = at("projects", project, *([part] if part else []))
    # The overview is the beginning of every address, so only its exact address counts as present.
    inside = here == address or (part != "" and here.startswith(address + "/"))
    return {"address": address, "title": title, "here": inside}


def latest_run(access: Access) -> Any | None:
    """Return the latest finished run of the project.

    Parameters
    ----------
    access : Access
        The project.

    Returns
    -------
    Any or None
        The run, or None if there is none.
    """
    return access.workspace.runs.latest(access.project.id)


def chosen_run(access: Access, run: str | None) -> Any | None:
    """Return the run with an id, or the latest finished run.

    Parameters
    ----------
    access : Access
        The project.
    run : str or None
        Id of the run, or "" or None for the latest.

    Returns
    -------
    Any or None
        The run, or None if there is none.
    """
    return find_run(access, run) if run else latest_run(access)


def classes_of(access: Access, run: Any) -> list[str]:
    """Return the classes of a run, then those that only people's answers name.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    list[str]
        Names of the classes.
    """
    return known_classes(run, access.workspace.answers.labels(access.project.id))


def answer_count(access: Access) -> int:
    """Return the number of current and second answers in the project.

    Parameters
    ----------
    access : Access
        The project.

    Returns
    -------
    int
        Number of answers.
    """
    return sum(row["answers"] for row in access.workspace.answers.counts(access.project.id))


def people_names(access: Access) -> dict[str, str]:
    """Return the names of all people.

    Parameters
    ----------
    access : Access
        The project.

    Returns
    -------
    dict[str, str]
        Name by id.
    """
    return {row.id: row.name for row in access.workspace.people.list()}


def descriptions(access: Access, run: Any) -> dict[str, str]:
    """Return the descriptions of a run's classes.

    Parameters
    ----------
    access : Access
        The project.
    run : Any
        The run.

    Returns
    -------
    dict[str, str]
        Description by class, without empty ones.
    """
    rows = access.workspace.runs.tables(run.id, ["codebook"]).get("codebook") or []
    return {row["class"]: row["description"] for row in rows if row["description"]}


def known_classes(run: Any, answered: list[str]) -> list[str]:
    """Return the classes of a run, then other given ones.

    Parameters
    ----------
    run : Any
        The run.
    answered : list[str]
        Classes that answers name.

    Returns
    -------
    list[str]
        Names of the classes.
    """
    known = list((run.summary or {}).get("classes", []))
    return known + [name for name in answered if name not in known]
