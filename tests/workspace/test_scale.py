"""Pages stay quick with many documents: every query finds its rows by an index."""

import re

import pytest
import sqlalchemy as sa
from large_workspace import fill_large, queries

from isthmus.workspace import open_workspace

LARGE = {"documents", "predictions", "answers", "events", "terms", "checked"}


def scans(connection, statement: str, parameters) -> list[str]:
    """Large tables that SQLite would read from beginning to end."""
    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    read = [re.match(r"SCAN (\w+)", row[-1]) for row in plan]
    return [found.group(1) for found in read if found and found.group(1) in LARGE]


def test_no_page_reads_a_large_table_from_beginning_to_end(tmp_path):
    with open_workspace(tmp_path) as ws:
        made = fill_large(ws, 200, runs=2, words=5)
        calls = queries(ws, made)
        said: list[tuple] = []
        engine = ws._context.db.engine

        def hear(connection, cursor, statement, parameters, context, executemany):
            if statement.lstrip().startswith(("SELECT", "UPDATE", "DELETE")) and not executemany:
                said.append((statement, parameters))

        for name, call in calls.items():
            said.clear()
            sa.event.listen(engine, "before_cursor_execute", hear)
            call()
            sa.event.remove(engine, "before_cursor_execute", hear)
            with engine.connect() as connection:
                for statement, parameters in list(said):
                    found = scans(connection, statement, parameters)
                    assert not found, f"{name} reads all of {found}: {statement}"


def test_a_query_without_an_index_would_be_seen(tmp_path):
    with open_workspace(tmp_path) as ws, ws._context.db.engine.connect() as connection:
        assert scans(connection, "SELECT * FROM documents WHERE name = ?", ("x",)) == ["documents"]
        assert scans(connection, "SELECT * FROM documents WHERE id = ?", ("x",)) == []


def test_pages_are_refused_that_are_too_long_or_begin_nowhere(tmp_path):
    with open_workspace(tmp_path) as ws:
        wrong_limits = [(None, limit) for limit in (0, 501, True, "5")]
        for after, limit in (*wrong_limits, (True, 5), ("x", 5), (-2, 5), (2**40, 5)):
            with pytest.raises(ValueError, match="give"):
                ws.documents.page("any", after=after, limit=limit)
