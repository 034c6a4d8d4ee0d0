"""Who is speaking: signed cookies, the token that every change must carry, passwords, and a brake on guessing."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError, VerifyMismatchError
from itsdangerous import BadData, URLSafeTimedSerializer

from isthmus.exceptions import UsageError
from isthmus.workbench.settings import Settings

SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1_000
LINK_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Session:
    """One browser's session: ``key`` (random, unguessable), who signed in with it, and under which of their stamps.

    A person's stamp changes when all their sessions should end.
    """

    key: str
    person: str | None = None
    stamp: str | None = None


class Cookies:
    """Sessions as signed cookies. What a client made up or changed counts as no session."""

    def __init__(self, settings: Settings):
        # Browsers keep cookies by host, not by port: two workbenches on one host need two names.
        mark = hashlib.sha256(b"cookie name:" + settings.secret).hexdigest()[:8]
        self.name = f"__Host-isthmus_{mark}" if settings.https else f"isthmus_{mark}"
        self._settings = settings
        self._serializer = URLSafeTimedSerializer(settings.secret, salt="isthmus-session")

    def read(self, value: str | None) -> Session | None:
        if not value:
            return None
        try:
            return Session(*self._serializer.loads(value, max_age=self._settings.session_seconds))
        except (BadData, ValueError, TypeError):
            return None

    def new(self, person: str | None = None, stamp: str | None = None) -> Session:
        """A session with a key of its own: never one that existed before somebody signed in."""
        return Session(secrets.token_urlsafe(24), person, stamp)

    def header(self, session: Session) -> str:
        """The ``Set-Cookie`` header that hands the session to the browser."""
        value = self._serializer.dumps([session.key, session.person, session.stamp])
        secure = "; Secure" if self._settings.https else ""
        return f"{self.name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={self._settings.session_seconds}{secure}"

    def csrf(self, session: Session) -> str:
        """The token that every change made in this session must carry."""
        message = f"csrf:{session.key}".encode()
        return hmac.new(self._settings.secret, message, hashlib.sha256).hexdigest()

    def csrf_holds(self, session: Session | None, token: str | None) -> bool:
        """Whether the token belongs to the session."""
        if session is None or not token:
            return False
        return hmac.compare_digest(self.csrf(session).encode(), token.encode("utf-8", "replace"))


class PasswordLinks:
    """Links with which a person sets a new password: good for a day, and for nothing once a password was set."""

    def __init__(self, settings: Settings):
        self._serializer = URLSafeTimedSerializer(settings.secret, salt="isthmus-password")

    def make(self, person: Any) -> str:
        return self._serializer.dumps([person.id, self._stamp(person)])

    def read(self, token: str) -> str | None:
        """The id of the person whom a token is for, or None where it was made up, is too old or damaged."""
        found = self._load(token)
        return str(found[0]) if found else None

    def holds(self, token: str, person: Any) -> bool:
        """Whether the token is this person's and no password was set since."""
        return self._load(token) == [person.id, self._stamp(person)] and not person.disabled

    def _load(self, token: str) -> list | None:
        try:
            person, stamp = self._serializer.loads(token, max_age=LINK_SECONDS)
        except (BadData, ValueError, TypeError):
            return None
        return [person, stamp]

    def _stamp(self, person: Any) -> str:
        return hashlib.sha256(f"password:{person.session_key}".encode()).hexdigest()[:32]


class Passwords:
    """argon2 hashes. A wrong name takes as long as a wrong password."""

    def __init__(self, **cost: Any):
        self._hasher = PasswordHasher(**cost)
        self._nobody = self._hasher.hash(secrets.token_urlsafe(16))
        self._turns = threading.Semaphore(4)  # one check takes 64 MiB

    def hash(self, password: str) -> str:
        """The hash to keep; refuses passwords that are too short."""
        check_password(password)
        with self._turns:
            return self._hasher.hash(password)

    def verify(self, kept: str | None, password: str) -> bool:
        """Whether the password belongs to the hash; ``kept`` None for a person who does not exist."""
        with self._turns:
            try:
                right = self._hasher.verify(kept or self._nobody, password[: LONGEST_PASSWORD + 1])
            except (VerifyMismatchError, VerificationError, InvalidHashError, UnicodeEncodeError):
                return False
        return bool(right and kept)


def check_password(password: str) -> None:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(
            f"The password has {len(password):,} characters; use {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,}."
        )
    try:
        password.encode()
    except UnicodeEncodeError:
        raise UsageError("The password contains characters that cannot be encoded.") from None


class RateLimiter:
    """At most ``most`` failures for a key within ``seconds``; ``keys`` bounds the memory."""

    def __init__(self, most: int, seconds: float, *, keys: int = 10_000):
        self.most, self.seconds, self._keys = most, seconds, keys
        self._failures: dict[str, deque[float]] = {}
        self._lock = threading.RLock()

    def take(self, key: str) -> float:
        """Count a try as a failure, before it is known to be one: 0; where there were too many, seconds to wait.

        Simultaneous tries cannot slip past each other. :meth:`cleared` or :meth:`forgiven` take back the count.
        """
        with self._lock:
            wait = self.wait(key)
            if not wait:
                self.failed(key)
            return wait

    def wait(self, key: str, *, now: float | None = None) -> float:
        """Seconds until the key may try again; 0 where it may now."""
        now = time.monotonic() if now is None else now
        with self._lock:
            times = self._recent(key, now)
            return times[0] + self.seconds - now if len(times) >= self.most else 0.0

    def failed(self, key: str, *, now: float | None = None) -> None:
        now = time.monotonic() if now is None else now
        with self._lock:
            times = self._recent(key, now)
            while not times and len(self._failures) >= self._keys:
                self._failures.pop(next(iter(self._failures)))
            times.append(now)
            self._failures[key] = times

    def forgiven(self, key: str) -> None:
        """Take back the latest failure of a key: the try succeeded."""
        with self._lock:
            times = self._failures.get(key)
            if times:
                times.pop()

    def cleared(self, key: str) -> None:
        """Forget a key's failures, after a success."""
        with self._lock:
            self._failures.pop(key, None)

    def _recent(self, key: str, now: float) -> deque[float]:
        times = self._failures.get(key, deque(maxlen=self.most))
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if not times:
            self._failures.pop(key, None)
        return times
