"""``isthmus serve``: run the workbench for a browser."""

from __future__ import annotations

from typing import Annotated

from isthmus._streams import say
from isthmus._utils import import_optional
from isthmus.cli.command import flag
from isthmus.cli.workspace import Database, Folder, need_workspace

EXAMPLE = "Example: isthmus serve --workspace survey-2026"


def serve(
    folder: Folder = None,
    database: Database = None,
    host: Annotated[
        str, flag("--host ADDRESS", "Address to listen on; an address that others can reach requires accounts.")
    ] = "127.0.0.1",
    port: Annotated[int, flag("--port N", "Port to listen on.", min=1, max=65535)] = 8765,
    accounts: Annotated[bool, flag("--accounts", "Require accounts on this machine as well.")] = False,
    https: Annotated[bool, flag("--https", "A proxy in front provides https.")] = False,
    names: Annotated[list[str] | None, flag("--name NAME", "A name of the server; may be repeated.")] = None,
    max_upload: Annotated[str, flag("--max-upload SIZE", "Largest file to accept.")] = "200M",
    sample: Annotated[
        bool, flag("--sample", "Start with the bundled sample; it is labelled in the background.")
    ] = False,
    proxies: Annotated[
        list[str] | None,
        flag(
            "--proxy ADDRESS", "Address or network of a proxy that reports where requests come from; may be repeated."
        ),
    ] = None,
    log_file: Annotated[
        str | None, flag("--log FILE", "File for the log, as lines of JSON; - is standard output.")
    ] = None,
) -> None:
    """Open the workbench: lasting projects, runs, and a queue in which a team reviews.

    A second process, the worker, does long jobs. Ctrl-C stops both; an interrupted run continues at the next start.
    Sign-in is off while the server accepts local connections only; any other --host requires accounts.
    """
    # Check the libraries first: the error names the extra that contains all of them.
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
