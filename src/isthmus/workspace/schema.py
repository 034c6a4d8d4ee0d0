"""The tables of a workspace. A change here needs a migration beside it; a test compares the two."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

# Keys and constraints get names that do not depend on the database, so that a migration can speak of them.
METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Moment(TypeDecorator):
    """A time in UTC; SQLite, which knows no time zones, keeps it as a text that sorts."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """To the database: always UTC."""
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """From the database: with its time zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _id() -> sa.Column:
    return sa.Column("id", sa.String(32), primary_key=True)


def _to(table: str, name: str | None = None, *, column: str = "id", null: bool = False) -> sa.Column:
    """A column that names a row of another table."""
    kind = sa.String(64) if column == "sha256" else sa.String(32)
    return sa.Column(name or f"{table}_id", kind, sa.ForeignKey(f"{table}.{column}"), nullable=null)


def _when(name: str = "at", *, null: bool = False) -> sa.Column:
    return sa.Column(name, Moment, nullable=null)


def _number() -> sa.Column:
    """A number that grows by one a row: the order of a log, and the key by which it is paged."""
    return sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True)


_JSON_OR_NOTHING = sa.JSON(none_as_null=True)
# Texts that are looked up by their beginning: in the order of their letters' codes, in both databases.
_SORTED = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")

# People

PEOPLE = sa.Table(
    "people",
    METADATA,
    _id(),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("folded_name", sa.String(200), nullable=False, unique=True),
    sa.Column("password_hash", sa.Text),
    sa.Column("role", sa.String(20), nullable=False),
    sa.Column("session_key", sa.String(32), nullable=False),
    sa.Column("disabled", sa.Boolean, nullable=False),
    _when("created_at"),
)
INVITATIONS = sa.Table(
    "invitations",
    METADATA,
    _id(),
    sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
    sa.Column("role", sa.String(20), nullable=False),
    _to("projects", "project_id", null=True),
    _to("people", "created_by"),
    _when("created_at"),
    _when("expires_at"),
    _when("used_at", null=True),
    _to("people", "used_by", null=True),
)
# Sessions that somebody ended before their time: the hash of each one's key, kept until it would have ended anyway.
ENDED_SESSIONS = sa.Table(
    "ended_sessions",
    METADATA,
    sa.Column("key_hash", sa.String(64), primary_key=True),
    _to("people", "person_id"),
    _when("until"),
)

# Projects and what is in them

PROJECTS = sa.Table(
    "projects",
    METADATA,
    _id(),
    sa.Column("name", sa.String(200), nullable=False),
    _to("people", "created_by"),
    _when("created_at"),
    _when("archived_at", null=True),
    sa.Column("second_reading", sa.Float, nullable=False, server_default="0"),  # share of the documents
)
MEMBERS = sa.Table(
    "members",
    METADATA,
    sa.Column("project_id", sa.String(32), sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("person_id", sa.String(32), sa.ForeignKey("people.id"), primary_key=True, index=True),
    sa.Column("role", sa.String(20), nullable=False),
    _when("since"),
)
FILES = sa.Table(
    "files",
    METADATA,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    _when("created_at"),
)
COLLECTIONS = sa.Table(
    "collections",
    METADATA,
    _id(),
    _to("projects", "project_id"),
    sa.Column("name", sa.String(300), nullable=False),
    sa.Column("ending", sa.String(20), nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),
    _to("files", "sha256", column="sha256"),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("mapping", _JSON_OR_NOTHING),
    sa.Column("preview", sa.JSON, nullable=False),
    sa.Column("documents", sa.Integer, nullable=False),
    sa.Column("labelled", sa.Integer, nullable=False),
    sa.Column("facts", _JSON_OR_NOTHING),
    _to("people", "created_by"),
    _when("created_at"),
    _when("removed_at", null=True),
    sa.Index("ix_collections_project_id", "project_id", "created_at"),
)
DOCUMENTS = sa.Table(
    "documents",
    METADATA,
    _id(),
    _to("collections", "collection_id"),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("label", sa.Text),
    sa.UniqueConstraint("collection_id", "position"),
)
# Which documents of a collection hold a term: their positions, packed. Both databases search it the same way.
TERMS = sa.Table(
    "terms",
    METADATA,
    sa.Column("collection_id", sa.String(32), sa.ForeignKey("collections.id"), primary_key=True),
    sa.Column("term", _SORTED, primary_key=True),
    sa.Column("word", _SORTED, nullable=False),
    sa.Column("documents", sa.Integer, nullable=False),
    sa.Column("positions", sa.LargeBinary, nullable=False),
    sa.Index("ix_terms_word", "collection_id", "word"),
    sa.Index("ix_terms_documents", "collection_id", "documents"),
)

# Runs

RUNS = sa.Table(
    "runs",
    METADATA,
    _id(),
    _to("projects", "project_id"),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    _to("collections", "target_id"),
    _to("runs", "base_id", null=True),
    _to("runs", "parent_id", null=True),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("record", sa.JSON, nullable=False),
    sa.Column("summary", _JSON_OR_NOTHING),
    sa.Column("error", sa.Text),
    _to("people", "created_by"),
    _when("created_at"),
    _when("started_at", null=True),
    _when("finished_at", null=True),
    sa.UniqueConstraint("project_id", "number"),
)
RUN_TABLES = sa.Table(
    "run_tables",
    METADATA,
    sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("name", sa.String(80), primary_key=True),
    sa.Column("content", sa.JSON, nullable=False),
)
PREDICTIONS = sa.Table(
    "predictions",
    METADATA,
    sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    _to("documents", "document_id"),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("confidence", sa.Float, nullable=False),
    sa.Column("needs_review", sa.Boolean, nullable=False),
    sa.Column("second", sa.Text, nullable=False),
    sa.Column("second_confidence", sa.Float, nullable=False),
    sa.Column("novel_group", sa.Text, nullable=False),
    sa.Column("near", sa.JSON, nullable=False),
    # The queue: the order in which documents are offered, and who has one in hand.
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    _to("people", "leased_to", null=True),
    _when("leased_until", null=True),
    _when("asked_at", null=True),
    sa.Index("ix_predictions_document_id", "document_id", "run_id", unique=True),
    sa.Index("ix_predictions_queue", "run_id", "state", "rank"),
    sa.Index("ix_predictions_review", "run_id", "needs_review", "state"),
)

# What people decided. Rows are never deleted: what was taken back says when and by whom.

ANSWERS = sa.Table(
    "answers",
    METADATA,
    _number(),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    _to("projects", "project_id"),
    _to("documents", "document_id"),
    _to("runs", "run_id", null=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("drawn", sa.String(10), nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("batch", sa.String(32), nullable=False),
    _to("people", "by"),
    _when(),
    sa.Column("current", sa.Boolean, nullable=False),
    _when("undone_at", null=True),
    _to("people", "undone_by", null=True),
    sa.Index("ix_answers_project_id", "project_id", "number"),
    sa.Index("ix_answers_document_id", "document_id", "number"),
    sa.Index("ix_answers_by", "by", "project_id", "number"),
    sa.Index("ix_answers_batch", "batch"),
    sa.Index(
        "uq_answers_current",
        "document_id",
        unique=True,
        sqlite_where=sa.text("current = 1"),
        postgresql_where=sa.text("current"),
    ),
)
# Documents that a second person reads, without the first one's answer, to tell how far people agree.
SECOND_READINGS = sa.Table(
    "second_readings",
    METADATA,
    sa.Column("document_id", sa.String(32), sa.ForeignKey("documents.id"), primary_key=True),
    _to("projects", "project_id"),
    _to("people", "first_by"),
    _when("since"),
    _to("people", "leased_to", null=True),
    _when("leased_until", null=True),
    sa.Column("answer_id", sa.String(32), sa.ForeignKey("answers.id")),
    sa.Index("ix_second_readings_project_id", "project_id", "answer_id", "since"),
    sa.Index("ix_second_readings_answer_id", "answer_id"),
)
WORDS = sa.Table(
    "words",
    METADATA,
    _number(),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    _to("projects", "project_id"),
    sa.Column("word", sa.String(200), nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    _to("people", "by"),
    _when(),
    _when("removed_at", null=True),
    _to("people", "removed_by", null=True),
    sa.Index("ix_words_project_id", "project_id", "word"),
    sa.Index(
        "uq_words_current",
        "project_id",
        "word",
        unique=True,
        sqlite_where=sa.text("removed_at IS NULL"),
        postgresql_where=sa.text("removed_at IS NULL"),
    ),
)
CLASS_NAMES = sa.Table(
    "class_names",
    METADATA,
    _number(),
    sa.Column("id", sa.String(32), nullable=False, unique=True),
    _to("projects", "project_id"),
    _to("runs", "run_id", null=True),
    sa.Column("kind", sa.String(20), nullable=False),  # class, group
    sa.Column("old", sa.Text, nullable=False),
    sa.Column("new", sa.Text, nullable=False),
    _to("people", "by"),
    _when(),
    _when("undone_at", null=True),
    _to("people", "undone_by", null=True),
    sa.Index("ix_class_names_project_id", "project_id", "number"),
)
CHECKS = sa.Table(
    "checks",
    METADATA,
    _id(),
    _to("runs", "run_id"),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("threshold", sa.Float),
    _to("people", "created_by"),
    _when("created_at"),
    sa.Index("ix_checks_run_id", "run_id", "created_at"),
)
CHECKED = sa.Table(
    "checked",
    METADATA,
    sa.Column("check_id", sa.String(32), sa.ForeignKey("checks.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    _to("documents", "document_id"),
    sa.Column("position", sa.Integer, nullable=False),
    _to("people", "leased_to", null=True),
    _when("leased_until", null=True),
    sa.Column("answer_id", sa.String(32), sa.ForeignKey("answers.id")),
    sa.Index("ix_checked_answer_id", "answer_id"),
)

# Work

JOBS = sa.Table(
    "jobs",
    METADATA,
    _id(),
    sa.Column("kind", sa.String(20), nullable=False),
    _to("projects", "project_id", null=True),
    _to("runs", "run_id", null=True),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("state", sa.String(20), nullable=False),
    sa.Column("progress", sa.JSON, nullable=False),
    sa.Column("result", _JSON_OR_NOTHING),
    sa.Column("error", sa.Text),
    sa.Column("error_code", sa.String(40)),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("cancel", sa.Boolean, nullable=False),
    _to("people", "created_by", null=True),
    _when("created_at"),
    _when("started_at", null=True),
    _when("heard_at", null=True),
    _when("finished_at", null=True),
    sa.Index("ix_jobs_state", "state", "created_at"),
    sa.Index("ix_jobs_project_id", "project_id", "created_at"),
    sa.Index("ix_jobs_run_id", "run_id"),
)
EXPORTS = sa.Table(
    "exports",
    METADATA,
    _id(),
    _to("projects", "project_id"),
    _to("runs", "run_id", null=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("ending", sa.String(20), nullable=False),
    sa.Column("name", sa.String(300), nullable=False),
    sa.Column("sha256", sa.String(64), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    _to("people", "created_by"),
    _when("created_at"),
    sa.Index("ix_exports_project_id", "project_id", "created_at"),
)
EVENTS = sa.Table(
    "events",
    METADATA,
    _number(),
    _when(),
    _to("people", "by", null=True),
    _to("projects", "project_id", null=True),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("subject", sa.String(64), nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
    sa.Index("ix_events_project_id", "project_id", "number"),
)
