"""The tables of a workspace as classes. Alembic generates the first migration from them."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, dataclass_transform, get_args, get_type_hints

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, column_property, mapped_column
from sqlalchemy.types import TypeDecorator

from isthmus.workspace.database import new_id, utc_now

VIEWER, REVIEWER, OWNER = "viewer", "reviewer", "owner"
ROLES = (VIEWER, REVIEWER, OWNER)  # each role includes the rights of the roles before it
# Kinds of collections.
KINDS = ("source", "target", "extra")
QUEUED, RUNNING, DONE = "queued", "running", "done"
OPEN, LEASED, ANSWERED = "open", "leased", "done"  # states of a document in a queue
FAILED, CANCELLED, INTERRUPTED = "failed", "cancelled", "interrupted"
ENDED = (DONE, FAILED, CANCELLED, INTERRUPTED)


class Moment(TypeDecorator):
    """A time in UTC; SQLite stores it without its time zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Return the value to store.

        Parameters
        ----------
        value : datetime or None
            Time with its time zone.
        dialect : Any
            Dialect of the database.

        Returns
        -------
        datetime or None
            The time in UTC.
        """
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Return the stored value with its time zone.

        Parameters
        ----------
        value : datetime or None
            Value from the database.
        dialect : Any
            Dialect of the database.

        Returns
        -------
        datetime or None
            The time in UTC.
        """
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# Both databases sort these texts by code points, so that an index finds texts by their beginning.
_SORTED = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")
# Increases by one per row: the order of a log, and the key of its pages.
_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
Id = Annotated[str, mapped_column(sa.String(32))]
Number = Annotated[int, mapped_column(_NUMBER, primary_key=True, autoincrement=True)]
Hash = Annotated[str, mapped_column(sa.String(64))]
Name = Annotated[str, mapped_column(sa.String(200))]
FileName = Annotated[str, mapped_column(sa.String(300))]
State = Annotated[str, mapped_column(sa.String(20))]  # one word of a fixed list
ShortState = Annotated[str, mapped_column(sa.String(10))]
Kind = Annotated[str, mapped_column(sa.String(40))]
Size = Annotated[int, mapped_column(sa.BigInteger)]
Json = dict[str, Any]


def _joined(query: sa.ScalarSelect) -> Any:
    """Return a value from another table that is read with each row."""
    return column_property(query)


def _key() -> Any:
    """Return the column of a random id."""
    return mapped_column(sa.String(32), primary_key=True, default_factory=new_id)


def _unique_id() -> Any:
    """Return the column of a random id in a table whose rows have numbers."""
    return mapped_column(sa.String(32), unique=True, default_factory=new_id)


def _now() -> Any:
    """Return the column of a row's time. The process sets it, so that both databases behave alike."""
    return mapped_column(default_factory=utc_now)


def _to(table: str, column: str | None = None, **options: Any) -> Any:
    """Return a column that refers to a row of another table."""
    key = "sha256" if table == "files" else "id"
    names = () if column is None else (column,)
    kind: Any = sa.String(64 if table == "files" else 32)
    return mapped_column(*names, kind, sa.ForeignKey(f"{table}.{key}"), **options)


# Type checkers do not see that the argument of the base class holds for every table.
@dataclass_transform(kw_only_default=True, field_specifiers=(mapped_column, column_property))
class Base(MappedAsDataclass, DeclarativeBase, kw_only=True):
    """Base class of the tables."""

    # Keys and constraints get names that do not depend on the database, so that migrations can refer to them.
    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar = {
        str: sa.Text,
        datetime: Moment,
        Json: sa.JSON(none_as_null=True),
        list[Any]: sa.JSON,
        list[str]: sa.JSON,
    }
    # Columns that answers of the server leave out.
    hidden: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Describe the columns that are not hidden to pydantic, with which the server writes JSON."""
        from pydantic import ConfigDict, create_model

        hints = get_type_hints(cls)
        names = [field.name for field in dataclasses.fields(cls) if field.name not in cls.hidden]
        fields: dict[str, Any] = {name: (get_args(hints[name])[0], ...) for name in names}
        return handler(create_model(cls.__name__, __config__=ConfigDict(from_attributes=True), **fields))


METADATA = Base.metadata


# People


class Person(Base):
    """An account; the local person has no password."""

    __tablename__ = "people"
    hidden = frozenset({"password_hash", "session_key", "folded_name"})

    id: Mapped[str] = _key()
    name: Mapped[Name]
    role: Mapped[State]
    password_hash: Mapped[str | None] = mapped_column(repr=False)
    session_key: Mapped[Id] = mapped_column(repr=False)
    disabled: Mapped[bool]
    created_at: Mapped[datetime] = _now()
    folded_name: Mapped[str] = mapped_column(sa.String(200), unique=True)


class Invitation(Base):
    """A link for one new account."""

    __tablename__ = "invitations"

    id: Mapped[str] = _key()
    # Only the hash of a token is stored, so that a backup contains no usable invitation.
    token_hash: Mapped[str] = mapped_column(sa.String(64), unique=True)
    role: Mapped[State]
    project: Mapped[str | None] = _to("projects", "project_id", default=None)
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None] = mapped_column(default=None)
    used_by: Mapped[str | None] = _to("people", default=None)


class EndedSession(Base):
    """A session that ended early, stored until it would have expired."""

    __tablename__ = "ended_sessions"

    key_hash: Mapped[str] = mapped_column(sa.String(64), primary_key=True)
    person: Mapped[str] = _to("people", "person_id")
    until: Mapped[datetime]


# Projects and what is in them


class Project(Base):
    """A project."""

    __tablename__ = "projects"

    id: Mapped[str] = _key()
    name: Mapped[Name]
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()
    archived_at: Mapped[datetime | None] = mapped_column(default=None)
    # Share of documents that two people read.
    second_reading: Mapped[float] = mapped_column(server_default="0", default=0.0)


class Member(Base):
    """A person with a role in a project."""

    __tablename__ = "members"
    hidden = frozenset({"project"})

    project: Mapped[str] = _to("projects", "project_id", primary_key=True)
    person: Mapped[str] = _to("people", "person_id", primary_key=True, index=True)
    name: Mapped[str] = _joined(sa.select(Person.name).where(Person.id == person.column).scalar_subquery())  # type: ignore[attr-defined]
    role: Mapped[State]
    since: Mapped[datetime] = _now()


class File(Base):
    """The content of uploaded files; several collections can share it."""

    __tablename__ = "files"

    sha256: Mapped[str] = mapped_column(sa.String(64), primary_key=True)
    size: Mapped[Size]
    created_at: Mapped[datetime] = _now()


class Collection(Base):
    """An uploaded file with the choice of its columns."""

    __tablename__ = "collections"
    __table_args__ = (sa.Index("ix_collections_project_id", "project_id", "created_at"),)
    hidden = frozenset({"ending", "preview", "removed_at"})

    id: Mapped[str] = _key()
    project: Mapped[str] = _to("projects", "project_id")
    name: Mapped[FileName]
    kind: Mapped[ShortState]
    sha256: Mapped[str] = _to("files")
    size: Mapped[int] = _joined(sa.select(File.size).where(File.sha256 == sha256.column).scalar_subquery())  # type: ignore[attr-defined]
    state: Mapped[State]
    mapping: Mapped[Json | None] = mapped_column(default=None)
    documents: Mapped[int] = mapped_column(default=0)
    labelled: Mapped[int] = mapped_column(default=0)
    facts: Mapped[Json | None] = mapped_column(default=None)
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()
    ending: Mapped[State]
    preview: Mapped[Json] = mapped_column(repr=False)
    removed_at: Mapped[datetime | None] = mapped_column(default=None)


class Document(Base):
    """A text of a collection."""

    __tablename__ = "documents"
    __table_args__ = (sa.UniqueConstraint("collection_id", "position"),)

    id: Mapped[str] = _key()
    collection: Mapped[str] = _to("collections", "collection_id")
    position: Mapped[int]
    name: Mapped[str]
    text: Mapped[str]
    label: Mapped[str | None]


class Term(Base):
    """The documents of a collection that contain a term, for a search that is the same in both databases."""

    __tablename__ = "terms"
    __table_args__ = (
        sa.Index("ix_terms_word", "collection_id", "word"),
        sa.Index("ix_terms_documents", "collection_id", "documents"),
    )

    collection: Mapped[str] = _to("collections", "collection_id", primary_key=True)
    term: Mapped[str] = mapped_column(_SORTED, primary_key=True)
    word: Mapped[str] = mapped_column(_SORTED)
    documents: Mapped[int]
    positions: Mapped[bytes]


# Runs


class Run(Base):
    """A run; ``record`` describes its inputs, ``summary`` its result."""

    __tablename__ = "runs"
    __table_args__ = (sa.UniqueConstraint("project_id", "number"),)

    id: Mapped[str] = _key()
    project: Mapped[str] = _to("projects", "project_id")
    number: Mapped[int]
    kind: Mapped[State]
    name: Mapped[Name]
    state: Mapped[State]
    target: Mapped[str] = _to("collections", "target_id")
    base: Mapped[str | None] = _to("runs", "base_id", default=None)
    parent: Mapped[str | None] = _to("runs", "parent_id", default=None)
    parameters: Mapped[Json]
    record: Mapped[Json] = mapped_column(repr=False)
    summary: Mapped[Json | None] = mapped_column(default=None)
    error: Mapped[str | None] = mapped_column(default=None)
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()
    started_at: Mapped[datetime | None] = mapped_column(default=None)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)


class RunTable(Base):
    """A table of a run's result, stored as JSON because pages read it as a whole."""

    __tablename__ = "run_tables"

    run: Mapped[str] = _to("runs", "run_id", primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(80), primary_key=True)
    content: Mapped[Any] = mapped_column(sa.JSON)


# Decisions of people. No row is deleted: an undone decision records when and by whom it was undone.


class Answer(Base):
    """A person's answer for a document. The current one counts."""

    __tablename__ = "answers"
    __table_args__ = (
        sa.Index("ix_answers_project_id", "project_id", "number"),
        sa.Index("ix_answers_document_id", "document_id", "number"),
        sa.Index("ix_answers_by", "by", "project_id", "number"),
        sa.Index("ix_answers_batch", "batch"),
        sa.Index("uq_answers_token", "document_id", "by", "token", unique=True),
        sa.Index(
            "uq_answers_current",
            "document_id",
            unique=True,
            sqlite_where=sa.text("current = 1"),
            postgresql_where=sa.text("current"),
        ),
    )
    hidden = frozenset({"token"})

    number: Mapped[Number] = mapped_column(init=False)
    id: Mapped[str] = _unique_id()
    project: Mapped[str] = _to("projects", "project_id")
    document: Mapped[str] = _to("documents", "document_id")
    run: Mapped[str | None] = _to("runs", "run_id")
    label: Mapped[str]
    drawn: Mapped[ShortState]
    kind: Mapped[ShortState]
    batch: Mapped[Id]
    by: Mapped[str] = _to("people")
    at: Mapped[datetime] = _now()
    current: Mapped[bool]
    undone_at: Mapped[datetime | None] = mapped_column(default=None)
    undone_by: Mapped[str | None] = _to("people", default=None)
    # Token of the request; a repeated request adds nothing.
    token: Mapped[str | None] = mapped_column(sa.String(64), default=None, repr=False)


OF_GROUP = "group"  # kind of an answer that a document got with its whole group; nobody has read it
HOW_DRAWN = sa.case((Answer.kind == OF_GROUP, OF_GROUP), else_=Answer.drawn).label("drawn")


class Prediction(Base):
    """The label of a document in a run, and the document's place in the queue."""

    __tablename__ = "predictions"
    __table_args__ = (
        sa.Index("ix_predictions_document_id", "document_id", "run_id", unique=True),
        sa.Index("ix_predictions_queue", "run_id", "state", "rank"),
        sa.Index("ix_predictions_review", "run_id", "needs_review", "state"),
    )
    hidden = frozenset({"leased_to", "asked_at", "drawn"})

    run: Mapped[str] = _to("runs", "run_id", primary_key=True)
    document: Mapped[str] = _to("documents", "document_id")
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = _joined(
        sa.select(Document.name).where(Document.id == document.column).scalar_subquery()  # type: ignore[attr-defined]
    )
    text: Mapped[str] = _joined(
        sa.select(Document.text).where(Document.id == document.column).scalar_subquery()  # type: ignore[attr-defined]
    )
    label: Mapped[str]
    confidence: Mapped[float]
    needs_review: Mapped[bool]
    second: Mapped[str]
    second_confidence: Mapped[float]
    novel_group: Mapped[str]
    near: Mapped[list[str]]
    rank: Mapped[int]
    reason: Mapped[str]
    state: Mapped[ShortState]
    leased_until: Mapped[datetime | None] = mapped_column(default=None)
    answer: Mapped[str | None] = _joined(
        sa.select(Answer.label).where(Answer.document == document.column, Answer.current).scalar_subquery()  # type: ignore[attr-defined]
    )
    leased_to: Mapped[str | None] = _to("people", default=None)
    asked_at: Mapped[datetime | None] = mapped_column(default=None)
    # How the queue chose the document: at random, or because its answer teaches most.
    drawn: Mapped[ShortState] = mapped_column(server_default="asked", default="asked")


class Annotator(Base):
    """A file with answers of a language model, a rule or a person without an account."""

    __tablename__ = "annotators"
    __table_args__ = (sa.Index("ix_annotators_project_id", "project_id", "created_at"),)
    hidden = frozenset({"said"})

    id: Mapped[str] = _key()
    project: Mapped[str] = _to("projects", "project_id")
    target: Mapped[str] = _to("collections", "target_id")
    name: Mapped[Name]
    file: Mapped[FileName]
    answers: Mapped[int]
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()
    removed_at: Mapped[datetime | None] = mapped_column(default=None)
    removed_by: Mapped[str | None] = _to("people", default=None)
    # Lists of position and label.
    said: Mapped[list[Any]] = mapped_column(repr=False)


class SecondReading(Base):
    """A document that a second person reads without seeing the first answer, to estimate agreement."""

    __tablename__ = "second_readings"
    __table_args__ = (
        sa.Index("ix_second_readings_project_id", "project_id", "answer_id", "since"),
        sa.Index("ix_second_readings_answer_id", "answer_id"),
    )

    document: Mapped[str] = _to("documents", "document_id", primary_key=True)
    project: Mapped[str] = _to("projects", "project_id")
    first_by: Mapped[str] = _to("people")
    since: Mapped[datetime] = _now()
    leased_to: Mapped[str | None] = _to("people", default=None)
    leased_until: Mapped[datetime | None] = mapped_column(default=None)
    answer: Mapped[str | None] = _to("answers", "answer_id", default=None)


class Word(Base):
    """A word with the class that a person gave it."""

    __tablename__ = "words"
    __table_args__ = (
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
    hidden = frozenset({"number"})

    number: Mapped[Number] = mapped_column(init=False)
    id: Mapped[str] = _unique_id()
    project: Mapped[str] = _to("projects", "project_id")
    word: Mapped[Name]
    label: Mapped[str]
    by: Mapped[str] = _to("people")
    at: Mapped[datetime] = _now()
    removed_at: Mapped[datetime | None] = mapped_column(default=None)
    removed_by: Mapped[str | None] = _to("people", default=None)


class GroupName(Base):
    """A new name of a group; the latest one counts."""

    __tablename__ = "group_names"
    __table_args__ = (sa.Index("ix_group_names_run_id", "run_id", "number"),)

    number: Mapped[Number] = mapped_column(init=False)
    run: Mapped[str] = _to("runs", "run_id")
    old: Mapped[str]
    new: Mapped[str]
    by: Mapped[str] = _to("people")
    at: Mapped[datetime] = _now()


class Checked(Base):
    """A document of a random sample, in the order of the draw."""

    __tablename__ = "checked"
    __table_args__ = (sa.Index("ix_checked_answer_id", "answer_id"),)

    check: Mapped[str] = _to("checks", "check_id", primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    document: Mapped[str] = _to("documents", "document_id")
    position: Mapped[int]
    leased_to: Mapped[str | None] = _to("people", default=None)
    leased_until: Mapped[datetime | None] = mapped_column(default=None)
    answer: Mapped[str | None] = _to("answers", "answer_id", default=None)


class Check(Base):
    """A random sample of a run; people label it without seeing the run's labels."""

    __tablename__ = "checks"
    __table_args__ = (sa.Index("ix_checks_run_id", "run_id", "created_at"),)

    id: Mapped[str] = _key()
    run: Mapped[str] = _to("runs", "run_id")
    size: Mapped[int]
    seed: Mapped[Size]
    threshold: Mapped[float | None]
    answered: Mapped[int] = _joined(
        sa.select(sa.func.count())
        .select_from(Checked)
        .join(Answer, Answer.id == Checked.answer)
        .where(Checked.check == id.column, Answer.undone_at.is_(None))  # type: ignore[attr-defined]
        .scalar_subquery()
    )
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()


# Work


class Job(Base):
    """Work for the worker process. ``progress`` contains ``phase``, ``done`` and ``total``."""

    __tablename__ = "jobs"
    __table_args__ = (
        # This index finds the oldest queued job.
        sa.Index("ix_jobs_state", "state", "created_at"),
        sa.Index("ix_jobs_project_id", "project_id", "created_at"),
        sa.Index("ix_jobs_run_id", "run_id"),
    )

    id: Mapped[str] = _key()
    kind: Mapped[State]
    project: Mapped[str | None] = _to("projects", "project_id")
    run: Mapped[str | None] = _to("runs", "run_id")
    payload: Mapped[Json]
    state: Mapped[State] = mapped_column(default=QUEUED)
    progress: Mapped[Json] = mapped_column(default_factory=dict)
    result: Mapped[Json | None] = mapped_column(default=None)
    error: Mapped[str | None] = mapped_column(default=None)
    error_code: Mapped[str | None] = mapped_column(sa.String(40), default=None)
    attempts: Mapped[int] = mapped_column(default=0)
    cancel: Mapped[bool] = mapped_column(default=False)
    created_by: Mapped[str | None] = _to("people")
    created_at: Mapped[datetime] = _now()
    started_at: Mapped[datetime | None] = mapped_column(default=None)
    heartbeat_at: Mapped[datetime | None] = mapped_column(default=None)
    finished_at: Mapped[datetime | None] = mapped_column(default=None)

    @property
    def ended(self) -> bool:
        """Whether the job has reached a final state, from which only a person can restart it."""
        return self.state in ENDED


class Export(Base):
    """A file that left the workspace."""

    __tablename__ = "exports"
    __table_args__ = (sa.Index("ix_exports_project_id", "project_id", "created_at"),)

    id: Mapped[str] = _key()
    project: Mapped[str] = _to("projects", "project_id")
    run: Mapped[str | None] = _to("runs", "run_id")
    kind: Mapped[State]
    ending: Mapped[State]
    name: Mapped[FileName]
    sha256: Mapped[Hash]
    size: Mapped[Size]
    created_by: Mapped[str] = _to("people")
    created_at: Mapped[datetime] = _now()


class Event(Base):
    """One line of the audit log."""

    __tablename__ = "events"
    __table_args__ = (sa.Index("ix_events_project_id", "project_id", "number"),)

    number: Mapped[Number] = mapped_column(init=False)
    at: Mapped[datetime] = _now()
    by: Mapped[str | None] = _to("people")
    project: Mapped[str | None] = _to("projects", "project_id")
    kind: Mapped[Kind]
    subject: Mapped[Hash]
    detail: Mapped[Json]


# The tables themselves, for statements about many rows.
_TABLES = (
    Person, Project, Member, EndedSession, Invitation, File, Collection, Document, Term, Run, RunTable, Answer,
    Prediction, Annotator, SecondReading, Word, GroupName, Checked, Check, Job, Export, Event,
)  # fmt: skip
(
    PEOPLE, PROJECTS, MEMBERS, ENDED_SESSIONS, INVITATIONS, FILES, COLLECTIONS, DOCUMENTS, TERMS, RUNS, RUN_TABLES,
    ANSWERS, PREDICTIONS, ANNOTATORS, SECOND_READINGS, WORDS, GROUP_NAMES, CHECKED, CHECKS, JOBS, EXPORTS, EVENTS,
) = (METADATA.tables[kind.__tablename__] for kind in _TABLES)  # fmt: skip
