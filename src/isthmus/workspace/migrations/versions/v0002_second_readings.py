"""Sessions that end one by one, and second readings."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add two tables and a column."""
    op.create_table(
        "ended_sessions",
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.String(length=32), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_ended_sessions_person_id")),
        sa.PrimaryKeyConstraint("key_hash", name=op.f("pk_ended_sessions")),
    )
    op.add_column("projects", sa.Column("second_reading", sa.Float(), server_default="0", nullable=False))
    op.create_table(
        "second_readings",
        sa.Column("document_id", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.String(length=32), nullable=False),
        sa.Column("first_by", sa.String(length=32), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("leased_to", sa.String(length=32), nullable=True),
        sa.Column("leased_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("answer_id", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name=op.f("fk_second_readings_document_id")),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_second_readings_project_id")),
        sa.ForeignKeyConstraint(["first_by"], ["people.id"], name=op.f("fk_second_readings_first_by")),
        sa.ForeignKeyConstraint(["leased_to"], ["people.id"], name=op.f("fk_second_readings_leased_to")),
        sa.ForeignKeyConstraint(["answer_id"], ["answers.id"], name=op.f("fk_second_readings_answer_id")),
        sa.PrimaryKeyConstraint("document_id", name=op.f("pk_second_readings")),
    )
    op.create_index("ix_second_readings_project_id", "second_readings", ["project_id", "answer_id", "since"])
    op.create_index("ix_second_readings_answer_id", "second_readings", ["answer_id"])
