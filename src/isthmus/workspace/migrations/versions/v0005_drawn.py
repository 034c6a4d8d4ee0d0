"""How the queue drew a document, as a column of its own; before, only the sentence of its reason told."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column, and fill it by what the reason says."""
    op.add_column("predictions", sa.Column("drawn", sa.String(length=10), server_default="asked", nullable=False))
    at_random = sa.text("UPDATE predictions SET drawn = 'random' WHERE reason LIKE :said")
    op.execute(at_random.bindparams(said="%drawn at random, to measure labels by names alone%"))
