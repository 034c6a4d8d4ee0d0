"""The first form of the tables, as SQL: what was made once stays as it was, whatever the library calls it later."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None

_WORDS = {
    "sqlite": {
        "time": "DATETIME",
        "number": "INTEGER",
        "bytes": "BLOB",
        "sorted": "VARCHAR(200)",
        "holds": "current = 1",
    },
    "postgresql": {
        "time": "TIMESTAMP WITH TIME ZONE",
        "number": "BIGSERIAL",
        "bytes": "BYTEA",
        "sorted": 'VARCHAR(200) COLLATE "C"',
        "holds": "current",
    },
}


def upgrade() -> None:
    """Make the tables."""
    statements = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").partition("\n\n")[2]
    words = _WORDS[op.get_context().dialect.name]
    for statement in statements.format_map(words).split(";\n"):
        if statement.strip():
            op.execute(statement)
