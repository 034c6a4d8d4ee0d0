"""``isthmus workspace``: back up, restore and check a workspace, and manage its people and projects."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from isthmus._streams import emit, say
from isthmus._utils import import_optional, plural
from isthmus.cli.app import WholeLines
from isthmus.cli.command import JobCommand, argument, flag, shared
from isthmus.cli.common import print_json
from isthmus.exceptions import DataError, UsageError

Folder = Annotated[
    Path | None, flag("--workspace FOLDER", "The workspace; $ISTHMUS_WORKSPACE or isthmus-workspace if omitted.")
]
Database = Annotated[
    str | None,
    flag(
        "--database URL",
        "PostgreSQL instead of a file in the workspace: postgresql://USER:PASSWORD@HOST/NAME; better given as "
        "$ISTHMUS_DATABASE, since others on the machine can read command lines.",
        envvar="ISTHMUS_DATABASE",
        show_envvar=False,
    ),
]
Person = Annotated[str, argument("NAME", "Name of the account.")]
ProjectName = Annotated[str, argument("PROJECT", "Name or id of the project.")]
AsJson = Annotated[bool, shared("as_json")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to the program.

    Parameters
    ----------
    app : typer.Typer
        The program.
    """
    group = typer.Typer(
        cls=WholeLines,
        help="Back up, restore and check the workspace of a workbench; manage its people and projects.",
        epilog="Example: isthmus workspace backup friday.tar",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    # The first word of each example is the name of the command.
    examples: dict[Callable, str] = {
        create: "create --workspace survey-2026",
        backup: "backup friday.tar",
        restore: "restore friday.tar --workspace new-folder",
        check: "check --thorough",
        people: "people",
        set_role: "role Kim owner",
        set_password: "password Kim",
        close_account: "close Kim --hand-over-to Lee",
        reopen_account: "reopen Kim",
        projects: "projects",
        archive: 'archive "Survey 2026"',
        unarchive: 'unarchive "Survey 2026"',
        hand_over: "hand-over --to Kim",
    }
    for command, example in examples.items():
        group.command(example.split()[0], cls=JobCommand, epilog=f"Example: isthmus workspace {example}")(command)
    app.add_typer(group, name="workspace")
    # Without a callback, typer would run a single command directly.
    app.callback()(lambda: None)


def need_workspace() -> None:
    """Raise an error that names the extra to install, before anything else fails without it.

    Raises
    ------
    MissingExtraError
        If a library is missing.
    """
    for name in ("sqlalchemy", "alembic"):
        import_optional(name, "A workspace", extra="workbench")


def existing_workspace(folder: Path | None, database: str | None) -> Any:
    """Open a workspace that exists; a typing error must not create a new one.

    Parameters
    ----------
    folder : Path or None
        Folder of the workspace, or None for the default.
    database : str or None
        Address of the database, or None for SQLite.

    Returns
    -------
    Any
        The open workspace.

    Raises
    ------
    DataError
        If there is no workspace.
    """
    need_workspace()
    from isthmus.workspace import open_workspace

    return open_workspace(folder, database, create=False)


def create(folder: Folder = None, database: Database = None) -> None:
    """Make a new, empty workspace. `isthmus serve` does so, too; the other commands need one that exists."""
    need_workspace()
    from isthmus.workspace import open_workspace

    # Opening must fail here: a DataError means that the folder is free.
    with suppress(DataError), open_workspace(folder, database, create=False) as found:
        raise UsageError(f"{str(found.folder)!r} is a workspace already; name another folder.", code="output-exists")
    with open_workspace(folder, database) as made:
        say(f"made the workspace {made.folder}")


def backup(
    file: Annotated[Path, argument("FILE", "Backup to write, such as friday.tar.")],
    folder: Folder = None,
    database: Database = None,
    as_json: AsJson = False,
    force: Annotated[bool, flag("--force", "Replace a backup that exists.")] = False,
) -> None:
    """Write everything in a workspace into one file, while people continue to work.

    It holds projects, files, runs, models, answers and the audit log at one moment. It can be restored into SQLite and
    into PostgreSQL, whichever it came from.
    """
    with existing_workspace(folder, database) as workspace:
        made = workspace.backup(file, force=force)
    _tell(made, f"wrote {file}", as_json)


def restore(
    file: Annotated[Path, argument("FILE", "Backup that isthmus workspace backup wrote.")],
    folder: Folder = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Fill a new, empty workspace from a backup. A damaged backup is refused, and nothing is written."""
    need_workspace()
    from isthmus.workspace import restore_workspace

    made = restore_workspace(file, folder, database)
    _tell(made, f"restored {file}", as_json)


def check(
    folder: Folder = None,
    database: Database = None,
    thorough: Annotated[bool, flag("--thorough", "Read every file and compare it with its hash.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look for damage: the database, missing or changed files, runs and answers that contradict each other.

    The exit code is 1 if something is wrong.
    """
    with existing_workspace(folder, database) as workspace:
        problems = workspace.check(thorough=thorough)
    if as_json:
        print_json({"problems": problems})
    else:
        for problem in problems:
            emit(problem)
        say("The workspace is sound." if not problems else f"{plural(len(problems), 'problem')} found.")
    if problems:
        raise typer.Exit(1)


def hand_over(
    taker: Annotated[str, flag("--to NAME", "New owner of the projects.")],
    giver: Annotated[
        str | None, flag("--from NAME", "Present owner; if omitted, all projects whose owners cannot sign in.")
    ] = None,
    folder: Folder = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Make a person the owner of projects.

    Without --from these are the projects that nobody can reach: those made before accounts were switched on, and those
    whose owner's account is closed.
    """
    with existing_workspace(folder, database) as workspace:
        to = _find_person(workspace, taker)
        moved = workspace.projects.hand_over(to.id, by=None, giver=_find_person(workspace, giver).id if giver else None)
    if as_json:
        print_json({"projects": [{"id": row.id, "name": row.name} for row in moved]})
        return
    for row in moved:
        emit(row.name)
    say(f"{plural(len(moved), 'project')} handed over to {to.name}.")


def people(folder: Folder = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the accounts: name, role, open or closed."""
    with existing_workspace(folder, database) as workspace:
        rows = workspace.people.list()
    if as_json:
        print_json({"people": [{"name": row.name, "role": row.role, "closed": row.disabled} for row in rows]})
        return
    for row in rows:
        emit(f"{row.name}\t{row.role}\t{'closed' if row.disabled else 'open'}")


def set_role(
    name: Person,
    role: Annotated[str, argument("ROLE", "viewer, reviewer or owner.")],
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Change a person's role in the workspace. The last owner cannot lose that role."""
    with existing_workspace(folder, database) as workspace:
        found = workspace.people.set_role(_find_person(workspace, name).id, role, by=None)
    say(f"{found.name} is {found.role} now.")


def set_password(name: Person, folder: Folder = None, database: Database = None) -> None:
    """Set a person's password, from a prompt or from standard input. All sessions of the person end."""
    with existing_workspace(folder, database) as workspace:
        # Only this command needs the library for hashes.
        import_optional("argon2", "A password", extra="workbench")
        from isthmus.workbench.sessions import Passwords

        found = _find_person(workspace, name)
        workspace.people.set_password(found.id, Passwords().hash(_read_password(found.name)), by=None)
    say(f"{found.name} has a new password.")


def _read_password(name: str) -> str:
    """Read a password from a prompt on a terminal, else from standard input."""
    # A script can pipe the password; an option would appear in the list of processes.
    if sys.stdin is not None and sys.stdin.isatty():
        return str(typer.prompt(f"New password of {name}", hide_input=True, confirmation_prompt=True, err=True))
    return (sys.stdin.readline() if sys.stdin is not None else "").rstrip("\r\n")


def close_account(
    name: Person,
    taker: Annotated[str | None, flag("--hand-over-to NAME", "New owner of projects that nobody else owns.")] = None,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Close an account: its sessions end, its answers stay. The workspace and each project keep an owner."""
    with existing_workspace(folder, database) as workspace:
        to = _find_person(workspace, taker).id if taker else None
        found = workspace.people.disable(_find_person(workspace, name).id, by=None, hand_over_to=to)
    say(f"The account of {found.name} is closed.")


def reopen_account(name: Person, folder: Folder = None, database: Database = None) -> None:
    """Open a closed account again."""
    with existing_workspace(folder, database) as workspace:
        found = workspace.people.enable(_find_person(workspace, name).id, by=None)
    say(f"The account of {found.name} is open.")


def projects(folder: Folder = None, database: Database = None, as_json: AsJson = False) -> None:
    """List the projects, including archived ones: name, owners, open or archived."""
    with existing_workspace(folder, database) as workspace:
        rows = [(row, workspace.projects.members(row.id)) for row in workspace.projects.list(archived=True)]
    shown = [
        {
            "id": row.id,
            "name": row.name,
            "owners": [member.name for member in members if member.role == "owner"],
            "archived": row.archived_at is not None,
        }
        for row, members in rows
    ]
    if as_json:
        print_json({"projects": shown})
        return
    for row in shown:
        emit(f"{row['name']}\t{', '.join(row['owners'])}\t{'archived' if row['archived'] else 'open'}")


def archive(name: ProjectName, folder: Folder = None, database: Database = None) -> None:
    """Archive a project: it leaves the lists, and nothing in it is lost."""
    _set_archived(name, folder, database, archived=True)


def unarchive(name: ProjectName, folder: Folder = None, database: Database = None) -> None:
    """Restore an archived project."""
    _set_archived(name, folder, database, archived=False)


def _set_archived(name: str, folder: Path | None, database: str | None, *, archived: bool) -> None:
    """Archive or restore the project with a name or an id."""
    with existing_workspace(folder, database) as workspace:
        rows = workspace.projects.list(archived=True)
        found = [row for row in rows if name in (row.id, row.name)]
        # Names of projects are not unique, so an ambiguous name is refused with the ids.
        if len(found) != 1:
            what = "Several projects are" if found else "No project is"
            listed = ", ".join(f"{row.name!r} ({row.id})" for row in found or rows[:10])
            raise UsageError(f"{what} called {name[:80]!r}; give the id of one: {listed}.", code="unknown-name")
        changed = workspace.projects.archive(found[0].id, by=None, archived=archived)
    say(f"{changed.name!r} is {'archived' if archived else 'open again'}.")


def _find_person(workspace: Any, name: str) -> Any:
    """Return a person by name, or raise an error that lists the accounts."""
    found = workspace.people.by_name(name)
    if found is None:
        known = ", ".join(row.name for row in workspace.people.list()[:10])
        raise UsageError(f"No account is called {name[:80]!r}; the accounts are: {known or 'none yet'}.",
                         code="unknown-name")  # fmt: skip
    return found


def _tell(made: dict, sentence: str, as_json: bool) -> None:
    """Print the figures of a backup."""
    if as_json:
        print_json(made)
        return
    counts = made["tables"]
    parts = [("projects", "project"), ("documents", "document"), ("runs", "run"), ("answers", "answer")]
    held = ", ".join(plural(counts[name], one) for name, one in parts)
    say(f"{sentence}: {held}, {plural(made['files'], 'file')}")
