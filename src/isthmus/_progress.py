"""Progress: methods report, and whoever runs them decides whether anybody listens.

A context variable, so that no constructor needs a parameter for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_listener: ContextVar[Callable[[dict], None] | None] = ContextVar("isthmus_progress", default=None)


def progress(phase: str, done: int, total: int | None = None, **facts: Any) -> None:
    """Tell a listener, if there is one, that ``done`` of ``total`` steps of ``phase`` are over."""
    listener = _listener.get()
    if listener is not None:
        listener({"phase": phase, "done": done, "total": total, "time": time.monotonic(), **facts})


@contextmanager
def listen(listener: Callable[[dict], None] | None) -> Iterator[None]:
    """Send progress of everything inside the block to ``listener``; None: to nobody.

    >>> with listen(lambda event: print(event["phase"], event["done"], event["total"])):
    ...     progress("reading", 1, 2)
    reading 1 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
