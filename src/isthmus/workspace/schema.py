"""Records and the tables that store them. A change here needs a migration; a test compares the two.

A record is a frozen dataclass, and its table is made from its fields: a field of type ``ProjectId`` called
``project`` is the column ``project_id``. Tables without a record are defined below their neighbours.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

VIEWER, REVIEWER, OWNER = "viewer", "reviewer", "owner"
ROLES = (VIEWER, REVIEWER, OWNER)  # each role includes the rights of the roles before it
# Kinds of collections.
KINDS = ("source", "target", "extra")

QUEUED, RUNNING, DONE = "queued", "running", "done"
OPEN, LEASED, ANSWERED = "open", "leased", "done"  # states of a document in a queue
FAILED, CANCELLED, INTERRUPTED = "failed", "cancelled", "interrupted"
ENDED = (DONE, FAILED, CANCELLED, INTERRUPTED)

# Keys and constraints get names that do not depend on the database, so that migrations can refer to them.
METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Moment(TypeDecorator):
    """A time in UTC. SQLite has no time zones and stores a text that sorts by time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Convert a time to UTC before it is stored.

        Parameters
        ----------
        value : datetime or None
            Time with its time zone, or None.
        dialect : Any
            Dialect of the database.

        Returns
        -------
        datetime or None
            Time in UTC.
        """
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Add the time zone to a time that was read.

        Parameters
        ----------
        value : datetime or None
            Time from the database, or None.
        dialect : Any
            Dialect of the database.

        Returns
        -------
        datetime or None
            Time in UTC.
        """
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


@dataclass(frozen=True)
class Stored:
    """How a field of a record is stored, if its Python type does not determine it."""

    type: Any = None
    to: str = ""  # name of the table that the field refers to
    server_default: str | None = None


Id = Annotated[str, Stored(sa.String(32))]
PersonId = Annotated[str, Stored(to="people")]
ProjectId = Annotated[str, Stored(to="projects")]
CollectionId = Annotated[str, Stored(to="collections")]
DocumentId = Annotated[str, Stored(to="documents")]
RunId = Annotated[str, Stored(to="runs")]
FileHash = Annotated[str, Stored(to="files")]
Hash = Annotated[str, Stored(sa.String(64))]
Name = Annotated[str, Stored(sa.String(200))]
FileName = Annotated[str, Stored(sa.String(300))]
State = Annotated[str, Stored(sa.String(20))]  # one word of a fixed list
ShortState = Annotated[str, Stored(sa.String(10))]
BigInt = Annotated[int, Stored(sa.BigInteger())]
# Increases by one per row: the order of a log, and the key of its pages.
Number = Annotated[int, Stored(sa.BigInteger().with_variant(sa.Integer, "sqlite"))]

_JSON_OR_NOTHING = sa.JSON(none_as_null=True)
_TYPES = {str: sa.Text, int: sa.Integer, float: sa.Float, bool: sa.Boolean, datetime: Moment}
# Both databases sort these texts by code points, so that an index finds texts by their beginning.
_SORTED = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")
TABLES: dict[type, sa.Table] = {}  # table by the dataclass of its record


def _to(table: str, name: str, *, null: bool = False, key: bool = False) -> sa.Column:
    """Return a column that refers to a row of another table."""
    kind, column = (sa.String(64), "sha256") if table == "files" else (sa.String(32), "id")
    return sa.Column(name, kind, sa.ForeignKey(f"{table}.{column}"), nullable=null, primary_key=key)


def _when(name: str, *, null: bool = False) -> sa.Column:
    """Return a column for a time."""
    return sa.Column(name, Moment, nullable=null)


def _column(name: str, hint: Any, key: tuple[str, ...]) -> sa.Column:
    """Return the column for a field of a record."""
    options = get_args(hint)
    null = NoneType in options
    if null:
        hint = next(option for option in options if option is not NoneType)
    kind, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    mark = marks[0] if marks else Stored()
    if mark.to:
        own_name = mark.to in ("people", "files")  # these names describe the person's part: created_by, undone_by
        return _to(mark.to, name if own_name else f"{name}_id", null=null, key=name in key)
    found = mark.type or _TYPES.get(kind) or (_JSON_OR_NOTHING if null else sa.JSON)
    if name in key:
        return sa.Column(name, found, primary_key=True, autoincrement=name == "number")
    return sa.Column(name, found, nullable=null, unique=name == "id" or None, server_default=mark.server_default)


def _table(
    name: str, record: type, *more: sa.schema.SchemaItem, key: tuple[str, ...] = ("id",), joined: tuple[str, ...] = ()
) -> sa.Table:
    """Create the table of a record: its fields without the joined ones, then columns that the record does not show."""
    hints = get_type_hints(record, include_extras=True)
    own = [_column(part.name, hints[part.name], key) for part in dataclasses.fields(record) if part.name not in joined]
    TABLES[record] = sa.Table(name, METADATA, *own, *more)
    return TABLES[record]


# People


@dataclass(frozen=True)
class Person:
    """Somebody with an account. A new ``session_key`` ends all sessions of the person."""

    id: Id
    name: Name
    role: State
    password_hash: str | None = field(repr=False)
    session_key: Id = field(repr=False)
    disabled: bool
    created_at: datetime


PEOPLE = _table("people", Person, sa.Column("folded_name", sa.String(200), nullable=False, unique=True))
# Only the hash of a token is stored, so that a backup contains no usable invitation.
INVITATIONS = sa.Table(
    "invitations",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
    sa.Column("role", sa.String(20), nullable=False),
    _to("projects", "project_id", null=True),
    _to("people", "created_by"),
    _when("created_at"),
    _when("expires_at"),
    _when("used_at", null=True),
    _to("people", "used_by", null=True),
)
# Sessions that ended early: the hash of each key, stored until the session would have expired.
ENDED_SESSIONS = sa.Table(
    "ended_sessions",
    METADATA,
    sa.Column("key_hash", sa.String(64), primary_key=True),
    _to("people", "person_id"),
    _when("until"),
)


# Projects and what is in them


@dataclass(frozen=True)
class Project:
    """Collections, runs and answers that belong together.

    ``second_reading`` is the share of documents that two people read.
    """

    id: Id
    name: Name
    created_by: PersonId
    created_at: datetime
    archived_at: datetime | None
    second_reading: Annotated[float, Stored(server_default="0")] = 0.0


PROJECTS = _table("projects", Project)


@dataclass(frozen=True)
class Member:
    """A person in a project, with the person's role."""

    person: str
    name: str
    role: str
    since: datetime


MEMBERS = sa.Table(
    "members",
    METADATA,
    _to("projects", "project_id", key=True),
    sa.Column("person_id", sa.String(32), sa.ForeignKey("people.id"), primary_key=True, index=True),
    sa.Column("role", sa.String(20), nullable=False),
    _when("since"),
)
# One row per content: several collections can share a file.
FILES = sa.Table(
    "files",
    METADATA,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("size", sa.BigInteger, nullable=False),
    _when("created_at"),
)


@dataclass(frozen=True)
class Collection:
    """A file of documents: ``state`` is "new" until its columns are mapped, then "reading" and "ready"."""

    id: Id
    project: ProjectId
    name: FileName
    kind: ShortState
    sha256: FileHash
    size: int
    state: State
    mapping: dict[str, Any] | None
    documents: int
    labelled: int
    facts: dict[str, Any] | None
    created_by: PersonId
    created_at: datetime


COLLECTIONS = _table(
    "collections",
    Collection,
    sa.Column("ending", sa.String(20), nullable=False),
    sa.Column("preview", sa.JSON, nullable=False),
    _when("removed_at", null=True),
    sa.Index("ix_collections_project_id", "project_id", "created_at"),
    joined=("size",),
)


@dataclass(frozen=True)
class Document:
    """One text; ``label`` is the label in its file, if any."""

    id: Id
    collection: CollectionId
    position: int
    name: str
    text: str
    label: str | None


DOCUMENTS = _table("documents", Document, sa.UniqueConstraint("collection_id", "position"))
# Packed positions of the documents that contain a term. Both databases search it in the same way.
TERMS = sa.Table(
    "terms",
    METADATA,
    _to("collections", "collection_id", key=True),
    sa.Column("term", _SORTED, primary_key=True),
    sa.Column("word", _SORTED, nullable=False),
    sa.Column("documents", sa.Integer, nullable=False),
    sa.Column("positions", sa.LargeBinary, nullable=False),
    sa.Index("ix_terms_word", "collection_id", "word"),
    sa.Index("ix_terms_documents", "collection_id", "documents"),
)


# Runs


@dataclass(frozen=True)
class Run:
    """A labelling run or a diagnosis; ``parameters`` and ``record`` suffice to repeat it."""

    id: Id
    project: ProjectId
    number: int
    kind: State
    name: Name
    state: State
    target: CollectionId
    base: RunId | None
    parent: RunId | None
    parameters: dict[str, Any]
    record: dict[str, Any] = field(repr=False)
    summary: dict[str, Any] | None
    error: str | None
    created_by: PersonId
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


RUNS = _table("runs", Run, sa.UniqueConstraint("project_id", "number"))
# Tables of a run's result, stored as JSON because pages read them as a whole.
RUN_TABLES = sa.Table(
    "run_tables",
    METADATA,
    _to("runs", "run_id", key=True),
    sa.Column("name", sa.String(80), primary_key=True),
    sa.Column("content", sa.JSON, nullable=False),
)


@dataclass(frozen=True)
class Prediction:
    """The label that a run gave a document, and the document's rank in the queue."""

    run: RunId
    document: DocumentId
    position: int
    name: str
    text: str
    label: str
    confidence: float
    needs_review: bool
    second: str
    second_confidence: float
    novel_group: str
    near: list[str]
    # The queue: rank, reason, state, and the end of the lease.
    rank: int
    reason: str
    state: ShortState
    leased_until: datetime | None = None
    answer: str | None = None


PREDICTIONS = _table(
    "predictions",
    Prediction,
    _to("people", "leased_to", null=True),
    _when("asked_at", null=True),
    # How the queue chose the document: at random, or because its answer teaches most.
    sa.Column("drawn", sa.String(10), server_default="asked", nullable=False),
    sa.Index("ix_predictions_document_id", "document_id", "run_id", unique=True),
    sa.Index("ix_predictions_queue", "run_id", "state", "rank"),
    sa.Index("ix_predictions_review", "run_id", "needs_review", "state"),
    key=("run", "position"),
    joined=("name", "text", "answer"),
)


# Decisions of people. No row is deleted: an undone decision records when and by whom it was undone.


def _unique_where(name: str, *columns: str, sqlite: str, postgresql: str) -> sa.Index:
    """Return an index that allows one row with the same columns among those that satisfy a condition."""
    return sa.Index(name, *columns, unique=True, sqlite_where=sa.text(sqlite), postgresql_where=sa.text(postgresql))


@dataclass(frozen=True)
class Answer:
    """The class that a person gave a document; ``current`` answers count, ``undone_at`` ones do not."""

    number: Number
    id: Id
    project: ProjectId
    document: DocumentId
    run: RunId | None
    label: str
    drawn: ShortState
    kind: ShortState
    batch: Id
    by: PersonId
    at: datetime
    current: bool
    undone_at: datetime | None
    undone_by: PersonId | None


ANSWERS = _table(
    "answers",
    Answer,
    sa.Column("token", sa.String(64)),  # token of the request; a repeated request adds nothing
    sa.Index("ix_answers_project_id", "project_id", "number"),
    sa.Index("ix_answers_document_id", "document_id", "number"),
    sa.Index("ix_answers_by", "by", "project_id", "number"),
    sa.Index("ix_answers_batch", "batch"),
    sa.Index("uq_answers_token", "document_id", "by", "token", unique=True),
    _unique_where("uq_answers_current", "document_id", sqlite="current = 1", postgresql="current"),
    key=("number",),
)
OF_GROUP = "group"  # kind of an answer that a document got with its whole group; nobody has read it
HOW_DRAWN = sa.case((ANSWERS.c.kind == OF_GROUP, OF_GROUP), else_=ANSWERS.c.drawn).label("drawn")


@dataclass(frozen=True)
class Annotator:
    """A file of answers from a machine or from somebody without an account; runs weight them by reliability."""

    id: Id
    project: ProjectId
    target: CollectionId
    name: Name
    file: FileName
    answers: int
    created_by: PersonId
    created_at: datetime
    removed_at: datetime | None
    removed_by: PersonId | None


ANNOTATORS = _table(
    "annotators",
    Annotator,
    sa.Column("said", sa.JSON, nullable=False),  # lists of position and label
    sa.Index("ix_annotators_project_id", "project_id", "created_at"),
)
# Documents that a second person reads without seeing the first answer, to estimate agreement.
SECOND_READINGS = sa.Table(
    "second_readings",
    METADATA,
    _to("documents", "document_id", key=True),
    _to("projects", "project_id"),
    _to("people", "first_by"),
    _when("since"),
    _to("people", "leased_to", null=True),
    _when("leased_until", null=True),
    _to("answers", "answer_id", null=True),
    sa.Index("ix_second_readings_project_id", "project_id", "answer_id", "since"),
    sa.Index("ix_second_readings_answer_id", "answer_id"),
)


@dataclass(frozen=True)
class Word:
    """A word that a person assigned to a class."""

    id: Id
    project: ProjectId
    word: Name
    label: str
    by: PersonId
    at: datetime
    removed_at: datetime | None
    removed_by: PersonId | None


def _number() -> sa.Column:
    """Return the column for the number of a row."""
    return _column("number", Number, ("number",))


WORDS = _table(
    "words",
    Word,
    _number(),
    sa.Index("ix_words_project_id", "project_id", "word"),
    _unique_where(
        "uq_words_current", "project_id", "word", sqlite="removed_at IS NULL", postgresql="removed_at IS NULL"
    ),
    key=("number",),
)
# New names of classes and groups; the latest one that is not undone counts.
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
    _when("at"),
    _when("undone_at", null=True),
    _to("people", "undone_by", null=True),
    sa.Index("ix_class_names_project_id", "project_id", "number"),
)


@dataclass(frozen=True)
class Check:
    """A random sample of a run; people label it without seeing the run's labels."""

    id: Id
    run: RunId
    size: int
    seed: BigInt
    threshold: float | None
    answered: int
    created_by: PersonId
    created_at: datetime


CHECKS = _table("checks", Check, sa.Index("ix_checks_run_id", "run_id", "created_at"), joined=("answered",))
# Documents of a sample in the order of the draw.
CHECKED = sa.Table(
    "checked",
    METADATA,
    _to("checks", "check_id", key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    _to("documents", "document_id"),
    sa.Column("position", sa.Integer, nullable=False),
    _to("people", "leased_to", null=True),
    _when("leased_until", null=True),
    _to("answers", "answer_id", null=True),
    sa.Index("ix_checked_answer_id", "answer_id"),
)


# Work


@dataclass(frozen=True)
class Job:
    """Work for the worker process. ``progress`` contains ``phase``, ``done`` and ``total``."""

    id: Id
    kind: State
    project: ProjectId | None
    run: RunId | None
    payload: dict[str, Any]
    state: State
    progress: dict[str, Any]
    result: dict[str, Any] | None
    error: str | None
    error_code: Annotated[str, Stored(sa.String(40))] | None
    attempts: int
    cancel: bool
    created_by: PersonId | None
    created_at: datetime
    started_at: datetime | None
    heartbeat_at: datetime | None
    finished_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether the job has reached a final state, from which only a person can restart it."""
        return self.state in ENDED


# The first index finds the oldest queued job.
JOBS = _table(
    "jobs",
    Job,
    sa.Index("ix_jobs_state", "state", "created_at"),
    sa.Index("ix_jobs_project_id", "project_id", "created_at"),
    sa.Index("ix_jobs_run_id", "run_id"),
)


@dataclass(frozen=True)
class Export:
    """A file that left the workspace."""

    id: Id
    project: ProjectId
    run: RunId | None
    kind: State
    ending: State
    name: FileName
    sha256: Hash
    size: BigInt
    created_by: PersonId
    created_at: datetime


EXPORTS = _table("exports", Export, sa.Index("ix_exports_project_id", "project_id", "created_at"))


@dataclass(frozen=True)
class Event:
    """One line of the audit log."""

    number: Number
    at: datetime
    by: PersonId | None
    project: ProjectId | None
    kind: Annotated[str, Stored(sa.String(40))]
    subject: Hash
    detail: dict[str, Any]


EVENTS = _table("events", Event, sa.Index("ix_events_project_id", "project_id", "number"), key=("number",))
