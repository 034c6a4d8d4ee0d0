"""Alembic runs this module inside a transaction that the workspace has opened."""

from alembic import context

from isthmus.workspace.schema import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
context.run_migrations()
