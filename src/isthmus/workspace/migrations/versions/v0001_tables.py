"""Create the tables. Alembic has generated this file from the classes in ``isthmus.workspace.schema``."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "files",
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_files")),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("session_key", sa.String(length=32), nullable=False),
        sa.Column("disabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("folded_name", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("folded_name", name=op.f("uq_people_folded_name")),
    )
    op.create_table(
        "ended_sessions",
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=32), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_ended_sessions_person_id")),
        sa.PrimaryKeyConstraint("key_hash", name=op.f("pk_ended_sessions")),
    )
    op.create_table(
        "projects",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("second_reading", sa.Double(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_projects_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_projects")),
    )
    op.create_table(
        "collections",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("mapping", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("labelled", sa.Integer(), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ending", sa.String(length=20), nullable=False),
        sa.Column("preview", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_collections_created_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_collections_project_id")),
        sa.ForeignKeyConstraint(["sha256"], ["files.sha256"], name=op.f("fk_collections_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collections")),
    )
    op.create_index("ix_collections_project_id", "collections", ["project_id", "created_at"], unique=False)
    op.create_table(
        "events",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.String(length=32), nullable=True),
        sa.Column("project_id", sa.String(length=32), nullable=True),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=False),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["people.id"], name=op.f("fk_events_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_events_project_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_events")),
    )
    op.create_index("ix_events_project_id", "events", ["project_id", "number"], unique=False)
    op.create_table(
        "invitations",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=True),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_by", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_invitations_created_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_invitations_project_id")),
        sa.ForeignKeyConstraint(["used_by"], ["people.id"], name=op.f("fk_invitations_used_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitations")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitations_token_hash")),
    )
    op.create_table(
        "members",
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("person_id", sa.String(length=32), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_members_person_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_members_project_id")),
        sa.PrimaryKeyConstraint("project_id", "person_id", name=op.f("pk_members")),
    )
    op.create_index(op.f("ix_members_person_id"), "members", ["person_id"], unique=False)
    op.create_table(
        "words",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("word", sa.String(length=200), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_by", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["by"], ["people.id"], name=op.f("fk_words_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_words_project_id")),
        sa.ForeignKeyConstraint(["removed_by"], ["people.id"], name=op.f("fk_words_removed_by")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_words")),
        sa.UniqueConstraint("id", name=op.f("uq_words_id")),
    )
    op.create_index("ix_words_project_id", "words", ["project_id", "word"], unique=False)
    op.create_index(
        "uq_words_current",
        "words",
        ["project_id", "word"],
        unique=True,
        sqlite_where=sa.text("removed_at IS NULL"),
        postgresql_where=sa.text("removed_at IS NULL"),
    )
    op.create_table(
        "annotators",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("target_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("file", sa.String(length=300), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_by", sa.String(length=32), nullable=True),
        sa.Column("said", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_annotators_created_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_annotators_project_id")),
        sa.ForeignKeyConstraint(["removed_by"], ["people.id"], name=op.f("fk_annotators_removed_by")),
        sa.ForeignKeyConstraint(["target_id"], ["collections.id"], name=op.f("fk_annotators_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_annotators")),
    )
    op.create_index("ix_annotators_project_id", "annotators", ["project_id", "created_at"], unique=False)
    op.create_table(
        "documents",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("collection_id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name=op.f("fk_documents_collection_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("collection_id", "position", name=op.f("uq_documents_collection_id_position")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("target_id", sa.String(length=32), nullable=False),
        sa.Column("base_id", sa.String(length=32), nullable=True),
        sa.Column("parent_id", sa.String(length=32), nullable=True),
        sa.Column("parameters", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("record", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("summary", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["base_id"], ["runs.id"], name=op.f("fk_runs_base_id")),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_runs_created_by")),
        sa.ForeignKeyConstraint(["parent_id"], ["runs.id"], name=op.f("fk_runs_parent_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_runs_project_id")),
        sa.ForeignKeyConstraint(["target_id"], ["collections.id"], name=op.f("fk_runs_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_runs_project_id_number")),
    )
    op.create_table(
        "terms",
        sa.Column("collection_id", sa.String(length=32), nullable=False),
        sa.Column(
            "term",
            sa.String(length=200).with_variant(sa.String(length=200, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column(
            "word",
            sa.String(length=200).with_variant(sa.String(length=200, collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("positions", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["collection_id"], ["collections.id"], name=op.f("fk_terms_collection_id")),
        sa.PrimaryKeyConstraint("collection_id", "term", name=op.f("pk_terms")),
    )
    op.create_index("ix_terms_documents", "terms", ["collection_id", "documents"], unique=False)
    op.create_index("ix_terms_word", "terms", ["collection_id", "word"], unique=False)
    op.create_table(
        "answers",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("document_id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("drawn", sa.String(length=10), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("batch", sa.String(length=32), nullable=False),
        sa.Column("by", sa.String(length=32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("undone_by", sa.String(length=32), nullable=True),
        sa.Column("token", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["by"], ["people.id"], name=op.f("fk_answers_by")),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name=op.f("fk_answers_document_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_answers_project_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_answers_run_id")),
        sa.ForeignKeyConstraint(["undone_by"], ["people.id"], name=op.f("fk_answers_undone_by")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_answers")),
        sa.UniqueConstraint("id", name=op.f("uq_answers_id")),
    )
    op.create_index("ix_answers_batch", "answers", ["batch"], unique=False)
    op.create_index("ix_answers_by", "answers", ["by", "project_id", "number"], unique=False)
    op.create_index("ix_answers_document_id", "answers", ["document_id", "number"], unique=False)
    op.create_index("ix_answers_project_id", "answers", ["project_id", "number"], unique=False)
    op.create_index(
        "uq_answers_current",
        "answers",
        ["document_id"],
        unique=True,
        sqlite_where=sa.text("current = 1"),
        postgresql_where=sa.text("current"),
    )
    op.create_index("uq_answers_token", "answers", ["document_id", "by", "token"], unique=True)
    op.create_table(
        "checks",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("threshold", sa.Double(), nullable=True),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_checks_created_by")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_checks_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checks")),
    )
    op.create_index("ix_checks_run_id", "checks", ["run_id", "created_at"], unique=False)
    op.create_table(
        "exports",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("ending", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=300), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_exports_created_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_exports_project_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_exports_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exports")),
    )
    op.create_index("ix_exports_project_id", "exports", ["project_id", "created_at"], unique=False)
    op.create_table(
        "group_names",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("old", sa.Text(), nullable=False),
        sa.Column("new", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=32), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["people.id"], name=op.f("fk_group_names_by")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_group_names_run_id")),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_group_names")),
    )
    op.create_index("ix_group_names_run_id", "group_names", ["run_id", "number"], unique=False)
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=True),
        sa.Column("run_id", sa.String(length=32), nullable=True),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("progress", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("error_code", sa.String(length=40), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_jobs_created_by")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_jobs_project_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_jobs_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index("ix_jobs_project_id", "jobs", ["project_id", "created_at"], unique=False)
    op.create_index("ix_jobs_run_id", "jobs", ["run_id"], unique=False)
    op.create_index("ix_jobs_state", "jobs", ["state", "created_at"], unique=False)
    op.create_table(
        "predictions",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("document_id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("needs_review", sa.Boolean(), nullable=False),
        sa.Column("second", sa.Text(), nullable=False),
        sa.Column("second_confidence", sa.Double(), nullable=False),
        sa.Column("novel_group", sa.Text(), nullable=False),
        sa.Column("near", sa.JSON(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_to", sa.String(length=32), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("drawn", sa.String(length=10), server_default="asked", nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name=op.f("fk_predictions_document_id")),
        sa.ForeignKeyConstraint(["leased_to"], ["people.id"], name=op.f("fk_predictions_leased_to")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_predictions_run_id")),
        sa.PrimaryKeyConstraint("run_id", "position", name=op.f("pk_predictions")),
    )
    op.create_index("ix_predictions_document_id", "predictions", ["document_id", "run_id"], unique=True)
    op.create_index("ix_predictions_queue", "predictions", ["run_id", "state", "rank"], unique=False)
    op.create_index("ix_predictions_review", "predictions", ["run_id", "needs_review", "state"], unique=False)
    op.create_table(
        "run_tables",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_tables_run_id")),
        sa.PrimaryKeyConstraint("run_id", "name", name=op.f("pk_run_tables")),
    )
    op.create_table(
        "checked",
        sa.Column("check_id", sa.String(length=32), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document_id", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("leased_to", sa.String(length=32), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answer_id", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name=op.f("fk_checked_answer_id")),
        sa.ForeignKeyConstraint(["check_id"], ["checks.id"], name=op.f("fk_checked_check_id")),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name=op.f("fk_checked_document_id")),
        sa.ForeignKeyConstraint(["leased_to"], ["people.id"], name=op.f("fk_checked_leased_to")),
        sa.PrimaryKeyConstraint("check_id", "place", name=op.f("pk_checked")),
    )
    op.create_index("ix_checked_answer_id", "checked", ["answer_id"], unique=False)
    op.create_table(
        "second_readings",
        sa.Column("document_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("first_by", sa.String(length=32), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leased_to", sa.String(length=32), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answer_id", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name=op.f("fk_second_readings_answer_id")),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name=op.f("fk_second_readings_document_id")),
        sa.ForeignKeyConstraint(["first_by"], ["people.id"], name=op.f("fk_second_readings_first_by")),
        sa.ForeignKeyConstraint(["leased_to"], ["people.id"], name=op.f("fk_second_readings_leased_to")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_second_readings_project_id")),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_second_readings")),
    )
    op.create_index("ix_second_readings_answer_id", "second_readings", ["answer_id"], unique=False)
    op.create_index(
        "ix_second_readings_project_id", "second_readings", ["project_id", "answer_id", "since"], unique=False
    )
