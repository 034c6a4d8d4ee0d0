"""The first form of the tables; keys and constraints are named by the convention of ``isthmus.workspace.schema``."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_SORTED = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")


def _to(place: str, name: str, *, null: bool = False, key: bool = False) -> sa.Column:
    kind = sa.String(64 if place == "files.sha256" else 32)
    return sa.Column(name, kind, sa.ForeignKey(place), nullable=null, primary_key=key)


def _when(name: str, *, null: bool = False) -> sa.Column:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=null)


def _number() -> sa.Column:
    return sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "files",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("size", sa.BigInteger(), nullable=False),
        _when("created_at"),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("folded_name", sa.String(200), nullable=False, unique=True),
        sa.Column("password_hash", sa.Text()),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("session_key", sa.String(32), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        _when("created_at"),
    )
    op.create_table(
        "projects",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        _to("people.id", "created_by"),
        _when("created_at"),
        _when("archived_at", null=True),
    )
    op.create_table(
        "collections",
        sa.Column("id", sa.String(32), primary_key=True),
        _to("projects.id", "project_id"),
        sa.Column("name", sa.String(300), nullable=False),
        sa.Column("ending", sa.String(20), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        _to("files.sha256", "sha256"),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("mapping", sa.JSON(none_as_null=True)),
        sa.Column("preview", sa.JSON(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("labelled", sa.Integer(), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True)),
        _to("people.id", "created_by"),
        _when("created_at"),
        _when("removed_at", null=True),
        sa.Index("ix_collections_project_id", "project_id", "created_at"),
    )
    op.create_table(
        "events",
        _number(),
        _when("at"),
        _to("people.id", "by", null=True),
        _to("projects.id", "project_id", null=True),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("subject", sa.String(64), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Index("ix_events_project_id", "project_id", "number"),
    )
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("role", sa.String(20), nullable=False),
        _to("projects.id", "project_id", null=True),
        _to("people.id", "created_by"),
        _when("created_at"),
        _when("expires_at"),
        _when("used_at", null=True),
        _to("people.id", "used_by", null=True),
    )
    op.create_table(
        "members",
        _to("projects.id", "project_id", key=True),
        _to("people.id", "person_id", key=True),
        sa.Column("role", sa.String(20), nullable=False),
        _when("since"),
        sa.Index("ix_members_person_id", "person_id"),
    )
    op.create_table(
        "words",
        _number(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        _to("projects.id", "project_id"),
        sa.Column("word", sa.String(200), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        _to("people.id", "by"),
        _when("at"),
        _when("removed_at", null=True),
        _to("people.id", "removed_by", null=True),
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
    op.create_table(
        "documents",
        sa.Column("id", sa.String(32), primary_key=True),
        _to("collections.id", "collection_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.Text()),
        sa.UniqueConstraint("collection_id", "position"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        _to("projects.id", "project_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        _to("collections.id", "target_id"),
        _to("runs.id", "base_id", null=True),
        _to("runs.id", "parent_id", null=True),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("record", sa.JSON(), nullable=False),
        sa.Column("summary", sa.JSON(none_as_null=True)),
        sa.Column("error", sa.Text()),
        _to("people.id", "created_by"),
        _when("created_at"),
        _when("started_at", null=True),
        _when("finished_at", null=True),
        sa.UniqueConstraint("project_id", "number"),
    )
    op.create_table(
        "terms",
        _to("collections.id", "collection_id", key=True),
        sa.Column("term", _SORTED, primary_key=True),
        sa.Column("word", _SORTED, nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("positions", sa.LargeBinary(), nullable=False),
        sa.Index("ix_terms_documents", "collection_id", "documents"),
        sa.Index("ix_terms_word", "collection_id", "word"),
    )
    op.create_table(
        "answers",
        _number(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        _to("projects.id", "project_id"),
        _to("documents.id", "document_id"),
        _to("runs.id", "run_id", null=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("drawn", sa.String(10), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("batch", sa.String(32), nullable=False),
        _to("people.id", "by"),
        _when("at"),
        sa.Column("current", sa.Boolean(), nullable=False),
        _when("undone_at", null=True),
        _to("people.id", "undone_by", null=True),
        sa.Index("ix_answers_batch", "batch"),
        sa.Index("ix_answers_by", "by", "project_id", "number"),
        sa.Index("ix_answers_document_id", "document_id", "number"),
        sa.Index("ix_answers_project_id", "project_id", "number"),
        sa.Index(
            "uq_answers_current",
            "document_id",
            unique=True,
            sqlite_where=sa.text("current = 1"),
            postgresql_where=sa.text("current"),
        ),
    )
    op.create_table(
        "checks",
        sa.Column("id", sa.String(32), primary_key=True),
        _to("runs.id", "run_id"),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("threshold", sa.Float()),
        _to("people.id", "created_by"),
        _when("created_at"),
        sa.Index("ix_checks_run_id", "run_id", "created_at"),
    )
    op.create_table(
        "class_names",
        _number(),
        sa.Column("id", sa.String(32), nullable=False, unique=True),
        _to("projects.id", "project_id"),
        _to("runs.id", "run_id", null=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("old", sa.Text(), nullable=False),
        sa.Column("new", sa.Text(), nullable=False),
        _to("people.id", "by"),
        _when("at"),
        _when("undone_at", null=True),
        _to("people.id", "undone_by", null=True),
        sa.Index("ix_class_names_project_id", "project_id", "number"),
    )
    op.create_table(
        "exports",
        sa.Column("id", sa.String(32), primary_key=True),
        _to("projects.id", "project_id"),
        _to("runs.id", "run_id", null=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("ending", sa.String(20), nullable=False),
        sa.Column("name", sa.String(300), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        _to("people.id", "created_by"),
        _when("created_at"),
        sa.Index("ix_exports_project_id", "project_id", "created_at"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        _to("projects.id", "project_id", null=True),
        _to("runs.id", "run_id", null=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True)),
        sa.Column("error", sa.Text()),
        sa.Column("error_code", sa.String(40)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        _to("people.id", "created_by", null=True),
        _when("created_at"),
        _when("started_at", null=True),
        _when("heard_at", null=True),
        _when("finished_at", null=True),
        sa.Index("ix_jobs_project_id", "project_id", "created_at"),
        sa.Index("ix_jobs_run_id", "run_id"),
        sa.Index("ix_jobs_state", "state", "created_at"),
    )
    op.create_table(
        "predictions",
        _to("runs.id", "run_id", key=True),
        sa.Column("position", sa.Integer(), primary_key=True, autoincrement=False),
        _to("documents.id", "document_id"),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("needs_review", sa.Boolean(), nullable=False),
        sa.Column("second", sa.Text(), nullable=False),
        sa.Column("second_confidence", sa.Float(), nullable=False),
        sa.Column("novel_group", sa.Text(), nullable=False),
        sa.Column("near", sa.JSON(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        _to("people.id", "leased_to", null=True),
        _when("leased_until", null=True),
        _when("asked_at", null=True),
        sa.Index("ix_predictions_document_id", "document_id", "run_id", unique=True),
        sa.Index("ix_predictions_queue", "run_id", "state", "rank"),
        sa.Index("ix_predictions_review", "run_id", "needs_review", "state"),
    )
    op.create_table(
        "run_tables",
        _to("runs.id", "run_id", key=True),
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("content", sa.JSON(), nullable=False),
    )
    op.create_table(
        "checked",
        _to("checks.id", "check_id", key=True),
        sa.Column("place", sa.Integer(), primary_key=True, autoincrement=False),
        _to("documents.id", "document_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        _to("people.id", "leased_to", null=True),
        _when("leased_until", null=True),
        _to("answers.id", "answer_id", null=True),
        sa.Index("ix_checked_answer_id", "answer_id"),
    )


def downgrade() -> None:
    """There is no way back: decisions would be lost."""
    raise NotImplementedError("a workspace is not taken back to an earlier form; restore a backup")
