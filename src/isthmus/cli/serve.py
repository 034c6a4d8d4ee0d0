"""``isthmus serve``: the workbench in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from isthmus._utils import import_optional
from isthmus.cli._exit import say
from isthmus.cli.workspace import Database, Folder, need_workspace

EXAMPLE = "Example: isthmus serve --workspace survey-2026"


def serve(
    folder: Folder = None,
    database: Database = None,
    host: Annotated[
        str, typer.Option("--host", help="Where to listen; an address that others can reach requires accounts.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port.")] = 8765,
    accounts: Annotated[bool, typer.Option("--accounts", help="Require accounts on this machine as well.")] = False,
    https: Annotated[bool, typer.Option("--https", help="A proxy in front provides https.")] = False,
    names: Annotated[
        list[str] | None, typer.Option("--name", metavar="NAME", help="A name of the server; may be repeated.")
    ] = None,
    max_upload: Annotated[str, typer.Option("--max-upload", metavar="SIZE", help="Largest file to accept.")] = "200M",
    sample: Annotated[
        bool, typer.Option("--sample", help="Start with the bundled sample; it is labelled in the background.")
    ] = False,
    proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy",
            metavar="ADDRESS",
            help="A proxy (address or network) that names where requests come from; may be repeated.",
        ),
    ] = None,
    log_file: Annotated[
        str | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Where the log goes, as lines of JSON; - is standard output.",
        ),
    ] = None,
) -> None:
    """Open the workbench: projects that last, runs, and a queue in which a team reviews.

    A second process, the worker, does what takes long. Ctrl-C stops both; a run that is under way goes on the next
    time. On this machine alone nobody signs in; --host with any other address demands accounts.
    """
    need_workspace()
    for name in ("fastapi", "uvicorn", "python_multipart", "itsdangerous", "argon2"):
        import_optional(name, "The workbench", extra="workbench")
    from isthmus.corpus.limits import read_size
    from isthmus.workbench import serve as serve_workbench
    from isthmus.workspace import open_workspace

    with open_workspace(folder, database) as workspace:
        serve_workbench(
            workspace,
            host,
            port,
            accounts=accounts,
            https=https,
            names=names or (),
            max_upload=read_size(max_upload, "--max-upload"),
            sample=sample,
            proxies=proxies or (),
            log_file=log_file,
            say=say,
        )
