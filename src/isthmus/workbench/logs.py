"""Logs as lines of JSON: one line an event, ready for any collector."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime


class LineFormatter(logging.Formatter):
    """A record as one line of JSON.

    Examples
    --------
    >>> import logging
    >>> from isthmus.workbench.logs import LineFormatter
    >>> record = logging.LogRecord("isthmus", logging.INFO, "", 0, "ready", None, None)
    >>> "ready" in LineFormatter().format(record)
    True
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        facts = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["trace"] = self.formatException(record.exc_info)
        return json.dumps(facts, ensure_ascii=True, default=str)


def log_lines(stream=None, *, level: int = logging.INFO) -> None:
    """Send what the server has to say to standard error, as lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter())
    for name, least in (("isthmus", level), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(least)
        logger.propagate = False
