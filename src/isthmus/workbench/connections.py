"""Connections below the application: how many there may be, and how long the headers of a request may take.

uvicorn waits without end for the headers of a first request, and a connection that was used once can be kept by sending
one byte; neither costs a client anything.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from isthmus.workbench.settings import Settings

MAX_HEAD = 32 * 2**10  # bytes of a request's headers


def bounded_protocol(settings: Settings) -> type[asyncio.Protocol]:
    """uvicorn's HTTP protocol with the limits of the settings, for ``uvicorn.Config(http=…)``."""

    class BoundedProtocol(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > settings.max_connections:
                transport.abort()
                return
            self._watch_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget_deadline()
            super().connection_lost(exc)

        def _watch_head(self) -> None:
            if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
                self._forget_deadline()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(settings.head_seconds, self.transport.abort)

        def _forget_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return BoundedProtocol
