"""Answers of other hands: a language model, a rule, somebody without an account."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "hands",
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
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_hands_project_id")),
        sa.ForeignKeyConstraint(["target_id"], ["collections.id"], name=op.f("fk_hands_target_id")),
        sa.ForeignKeyConstraint(["created_by"], ["people.id"], name=op.f("fk_hands_created_by")),
        sa.ForeignKeyConstraint(["removed_by"], ["people.id"], name=op.f("fk_hands_removed_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hands")),
    )
    op.create_index("ix_hands_project_id", "hands", ["project_id", "created_at"])
