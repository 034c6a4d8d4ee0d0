"""Answers with the token of their request, so that a request that comes twice gives one answer."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add a column and its index."""
    op.add_column("answers", sa.Column("token", sa.String(length=64), nullable=True))
    op.create_index("uq_answers_token", "answers", ["document_id", "by", "token"], unique=True)
