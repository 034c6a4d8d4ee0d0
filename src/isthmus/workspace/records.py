"""What a workspace gives back: plain frozen records, never rows of the database."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

VIEWER, REVIEWER, OWNER = "viewer", "reviewer", "owner"
ROLES = (VIEWER, REVIEWER, OWNER)  # each may do what those before it may
KINDS = ("source", "target", "extra")

QUEUED, RUNNING, DONE = "queued", "running", "done"
FAILED, CANCELLED, INTERRUPTED = "failed", "cancelled", "interrupted"
ENDED = (DONE, FAILED, CANCELLED, INTERRUPTED)


@dataclass(frozen=True)
class Person:
    """Somebody who works here. ``session_key`` changes when every session of theirs should end."""

    id: str
    name: str
    role: str
    password_hash: str | None = field(repr=False)
    session_key: str = field(repr=False)
    disabled: bool
    created_at: datetime


@dataclass(frozen=True)
class Project:
    """Collections, runs and answers that belong together. ``second_reading``: the share of documents that two read."""

    id: str
    name: str
    created_by: str
    created_at: datetime
    archived_at: datetime | None
    second_reading: float = 0.0


@dataclass(frozen=True)
class Member:
    """A person in a project, and what they may do there."""

    person: str
    name: str
    role: str
    since: datetime


@dataclass(frozen=True)
class Collection:
    """A file of documents: ``state`` is "new" until its columns are mapped, then "reading" and "ready"."""

    id: str
    project: str
    name: str
    kind: str
    sha256: str
    size: int
    state: str
    mapping: dict[str, Any] | None
    documents: int
    labelled: int
    facts: dict[str, Any] | None
    created_by: str
    created_at: datetime


@dataclass(frozen=True)
class Document:
    """One text; ``label`` is the one in its file, if any."""

    id: str
    collection: str
    position: int
    name: str
    text: str
    label: str | None


@dataclass(frozen=True)
class Run:
    """A labelling, or a diagnosis, and what is needed to make it again: ``parameters`` and ``record``."""

    id: str
    project: str
    number: int
    kind: str
    name: str
    state: str
    target: str
    base: str | None
    parent: str | None
    parameters: dict[str, Any]
    record: dict[str, Any] = field(repr=False)
    summary: dict[str, Any] | None
    error: str | None
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True)
class Prediction:
    """What a run says about a document, and where that document stands in the queue."""

    run: str
    document: str
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
    rank: int
    reason: str
    state: str
    leased_until: datetime | None = None
    answer: str | None = None


@dataclass(frozen=True)
class Answer:
    """What a person said about a document. ``current``: it holds now; ``undone_at``: it was taken back."""

    number: int
    id: str
    project: str
    document: str
    run: str | None
    label: str
    drawn: str
    kind: str
    batch: str
    by: str
    at: datetime
    current: bool
    undone_at: datetime | None
    undone_by: str | None


@dataclass(frozen=True)
class Word:
    """A word that a person gave to a class."""

    id: str
    project: str
    word: str
    label: str
    by: str
    at: datetime
    removed_at: datetime | None
    removed_by: str | None


@dataclass(frozen=True)
class Check:
    """A random sample of a run, to be labelled without seeing the run's labels."""

    id: str
    run: str
    size: int
    seed: int
    threshold: float | None
    answered: int
    created_by: str
    created_at: datetime


@dataclass(frozen=True)
class Job:
    """Work for the worker process. ``progress`` holds ``phase``, ``done`` and ``total``."""

    id: str
    kind: str
    project: str | None
    run: str | None
    payload: dict[str, Any]
    state: str
    progress: dict[str, Any]
    result: dict[str, Any] | None
    error: str | None
    error_code: str | None
    attempts: int
    cancel: bool
    created_by: str | None
    created_at: datetime
    started_at: datetime | None
    heard_at: datetime | None
    finished_at: datetime | None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.state in ENDED


@dataclass(frozen=True)
class Export:
    """A file that was taken out of the workspace."""

    id: str
    project: str
    run: str | None
    kind: str
    ending: str
    name: str
    sha256: str
    size: int
    created_by: str
    created_at: datetime


@dataclass(frozen=True)
class Event:
    """One line of the audit log."""

    number: int
    at: datetime
    by: str | None
    project: str | None
    kind: str
    subject: str
    detail: dict[str, Any]
