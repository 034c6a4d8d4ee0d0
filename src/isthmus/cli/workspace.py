"""``isthmus workspace``: keep a workspace safe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus._utils import import_optional, plural
from isthmus.cli._exit import emit, say
from isthmus.cli._help import WholeLines
from isthmus.cli.common import print_json

Folder = Annotated[
    Path | None,
    typer.Option(
        "--workspace", metavar="FOLDER", help="The workspace; $ISTHMUS_WORKSPACE or isthmus-workspace if omitted."
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar="ISTHMUS_DATABASE",
        show_envvar=False,
        help="PostgreSQL instead of a file in the workspace: postgresql://USER:PASSWORD@HOST/NAME; better given as "
        "$ISTHMUS_DATABASE, for others can read a command line.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to the program."""
    group = typer.Typer(
        cls=WholeLines,
        help="Back up, restore and check the workspace of a workbench.",
        epilog="Example: isthmus workspace backup friday.tar",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    group.command("backup", epilog="Example: isthmus workspace backup friday.tar")(backup)
    group.command("restore", epilog="Example: isthmus workspace restore friday.tar --workspace new-folder")(restore)
    group.command("check", epilog="Example: isthmus workspace check --thorough")(check)
    app.add_typer(group, name="workspace")
    app.callback()(lambda: None)


def need_workspace() -> None:
    """Say how to get what a workspace needs, before anything else fails over it."""
    for name in ("sqlalchemy", "alembic"):
        import_optional(name, "A workspace", extra="workbench")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the backup goes, such as friday.tar.")],
    folder: Folder = None,
    database: Database = None,
    as_json: AsJson = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a backup that exists.")] = False,
) -> None:
    """Write everything in a workspace into one file, while people go on working.

    It holds projects, files, runs, models, answers and the audit log, of one moment. It can be restored into SQLite and
    into PostgreSQL, wherever it came from.
    """
    need_workspace()
    from isthmus.workspace import open_workspace

    with open_workspace(folder, database) as workspace:
        made = workspace.backup(file, force=force)
    _tell(made, f"wrote {file}", as_json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What isthmus workspace backup wrote.")],
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
    thorough: Annotated[bool, typer.Option("--thorough", help="Read every file and compare it with its hash.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look for damage: the database, missing or changed files, runs and answers that do not fit each other.

    The exit code is 1 where something is wrong.
    """
    need_workspace()
    from isthmus.workspace import open_workspace

    with open_workspace(folder, database) as workspace:
        problems = workspace.check(thorough=thorough)
    if as_json:
        print_json({"problems": problems})
    else:
        for problem in problems:
            emit(problem)
        say("The workspace is sound." if not problems else f"{plural(len(problems), 'problem')} found.")
    if problems:
        raise typer.Exit(1)


def _tell(made: dict, sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    counts = made["tables"]
    parts = [("projects", "project"), ("documents", "document"), ("runs", "run"), ("answers", "answer")]
    held = ", ".join(plural(counts[name], one) for name, one in parts)
    say(f"{sentence}: {held}, {plural(made['files'], 'file')}")
