"""Workspaces for tests: the same tests on SQLite and on PostgreSQL.

PostgreSQL is the one that ``ISTHMUS_TEST_POSTGRES`` names (an address with the right to make databases), or one that is
started here from the system's packages; where there is neither, its tests skip and say so.
"""

import io
import os
import shutil
import subprocess
import tempfile
import uuid
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("sqlalchemy"):  # otherwise conftest.py at the root skips every file here
    import sqlalchemy as sa

    from isthmus.workspace import open_workspace, work

_PREFIX = "isthmus-pg-"
BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))]

SOURCE = "id,text,label\n" + "".join(
    f"s{i},{text} {extra},{label}\n"
    for i, (text, label, extra) in enumerate(
        (text, label, extra)
        for extra in ("today", "again", "last week", "in spring", "at the counter")
        for text, label in (
            ("kind helpful staff", "staff"),
            ("rude clerk and impolite staff", "staff"),
            ("great fast bike with a strong engine", "product"),
            ("slow bike with a weak engine", "product"),
            ("the price was high and the bill dear", "price"),
            ("cheap offer and a fair price", "price"),
        )
    )
)
TARGET = "id,comment\n" + "".join(
    f"t{i},{text} {extra}\n"
    for i, (text, extra) in enumerate(
        (text, extra)
        for extra in ("here", "now", "twice", "as always")
        for text in (
            "the staff was kind",
            "impolite staff in the car workshop",
            "the car has a strong engine",
            "engine too weak for such a car",
            "a fair price for the tyres",
            "bill too high and price dear",
        )
    )
)


# PostgreSQL


def _as_server(command: str) -> list[str]:
    """PostgreSQL refuses to run as root; then it runs as its own user."""
    return ["su", "postgres", "-s", "/bin/sh", "-c", command] if os.geteuid() == 0 else ["sh", "-c", command]


def _find_postgres() -> Path:
    """Folder of the newest server's programs."""
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if not tools:
        pytest.skip("PostgreSQL is not installed (Debian's package postgresql), and ISTHMUS_TEST_POSTGRES is not set")
    return tools[-1].parent


def _start_postgres(tool: Path, folder: Path) -> str:
    """Start a server that only this machine's sockets reach; its address."""
    data = folder / "data"
    folder.chmod(0o755)
    data.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        shutil.chown(data, "postgres")
    options = f"\"-c listen_addresses='' -k {folder} -F\""
    make = f"{tool}/initdb -A trust -U postgres -E UTF8 -D {data}"
    start = f"{tool}/pg_ctl -D {data} -l {folder / 'log'} -w -o {options} start"
    for command in (make, start):
        made = subprocess.run(_as_server(command), capture_output=True, timeout=120, cwd="/", check=False)
        if made.returncode:
            pytest.skip(f"PostgreSQL could not be started: {made.stderr.decode(errors='replace')[-300:]}")
    return f"postgresql://postgres@/postgres?host={folder}"


def _stop_postgres(tool: Path, folder: Path) -> None:
    stop = f"{tool}/pg_ctl -D {folder / 'data'} -m immediate stop"
    subprocess.run(_as_server(stop), capture_output=True, cwd="/", check=False)
    shutil.rmtree(folder, ignore_errors=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return pid > 0


class Postgres:
    """A server on which databases are made and dropped."""

    def __init__(self, url: str):
        self.url = sa.make_url(url).set(drivername="postgresql+psycopg")

    def make(self, template: str = "template1") -> str:
        """Address of a new database, a copy of another."""
        name = f"isthmus_{uuid.uuid4().hex}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url.set(database=name).render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        self.run(f"DROP DATABASE IF EXISTS {sa.make_url(url).database} WITH (FORCE)")

    def run(self, statement: str) -> None:
        engine = sa.create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(statement)
        engine.dispose()


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs the extra 'team'")
    given = os.environ.get("ISTHMUS_TEST_POSTGRES")
    if given:
        yield Postgres(given)
        return
    tool = _find_postgres()
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/owner"):  # of tests that were killed
        if not _is_running(int(left.read_text() or 0)):
            _stop_postgres(tool, left.parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # short: the name of a socket has at most 107 characters
    (folder / "owner").write_text(str(os.getpid()))
    try:
        yield Postgres(_start_postgres(tool, folder))
    finally:
        _stop_postgres(tool, folder)


# Workspaces


@pytest.fixture(params=BACKENDS)
def database(request):
    """Address of an empty PostgreSQL database, or None: SQLite in the workspace's folder."""
    if request.param == "sqlite":
        yield None
        return
    server = request.getfixturevalue("postgres")
    url = server.make()
    yield url
    server.drop(url)


@pytest.fixture
def ws(database, tmp_path):
    """An empty workspace."""
    with open_workspace(tmp_path / "workspace", database) as workspace:
        yield workspace


def _add_file(ws, project, name, content, kind, by, **mapping):
    """Add and map a file; columns as guessed, unless they are named."""
    data = content if isinstance(content, bytes) else content.encode()
    found = ws.collections.add(project, name, io.BytesIO(data), kind=kind, by=by)
    guesses = ws.collections.preview(found.id)["guesses"]
    columns = {"text": guesses["text"], "label": guesses["label"], "id_column": guesses["id"], **mapping}
    return ws.collections.map(found.id, by=by, **columns)


@pytest.fixture
def add_file():
    """Adds a file to a project and maps its columns."""
    return _add_file


@pytest.fixture
def source_csv() -> bytes:
    """A file of labelled documents."""
    return SOURCE.encode()


def fill(ws) -> None:
    """A project with a source, a target and a run that is done."""
    by = ws.people.local().id
    made = ws.projects.create("Dealers", by=by)
    _add_file(ws, made.id, "bikes.csv", SOURCE, "source", by)
    _add_file(ws, made.id, "cars.csv", TARGET, "target", by)
    run = ws.runs.start(made.id, {"method": "nbc", "vectors": False}, by=by)
    work(ws, until_idle=True)
    assert ws.runs.get(run.id).state == "done", ws.runs.get(run.id).error


@pytest.fixture(scope="session")
def filled(request, tmp_path_factory):
    """Prepared workspaces by kind of database, to be copied: folder and, on PostgreSQL, the database."""
    made: dict[str, tuple[Path, str | None]] = {}

    def prepare(kind: str) -> tuple[Path, str | None]:
        if kind not in made:
            folder = tmp_path_factory.mktemp("filled") / "workspace"
            url = request.getfixturevalue("postgres").make() if kind == "postgresql" else None
            with open_workspace(folder, url) as workspace:
                fill(workspace)
            made[kind] = folder, url
        return made[kind]

    return prepare


@pytest.fixture(params=BACKENDS)
def ready(request, filled, tmp_path):
    """Folder and database of a workspace with a project and a run."""
    folder, url = filled(request.param)
    copy = tmp_path / "ready"
    shutil.copytree(folder, copy)
    if url is None:
        yield copy, None
        return
    server = request.getfixturevalue("postgres")
    mine = server.make(sa.make_url(url).database)
    yield copy, mine
    server.drop(mine)


@pytest.fixture
def done(ready):
    """A workspace with a project and a run that is done; ``project``, ``run`` and ``by`` are at hand."""
    with open_workspace(*ready) as workspace:
        workspace.project = workspace.projects.list()[0]
        workspace.run = workspace.runs.list(workspace.project.id)[0]
        workspace.by = workspace.project.created_by
        yield workspace
