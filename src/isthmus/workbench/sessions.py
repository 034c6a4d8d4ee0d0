"""Sessions: signed cookies, the token that every change must carry, passwords, and a limit on guesses."""

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

# Characters; the upper limit bounds the time of hashing.
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1_000
# Seconds for which a link to a new password is valid: one day.
LINK_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Session:
    """One browser's session: its random key, the signed-in person, and the person's stamp at that time.

    A new stamp ends all sessions of a person.
    """

    key: str
    person: str | None = None
    stamp: str | None = None


class Cookies:
    """Sessions as signed cookies. A cookie that a client invented or changed counts as no session."""

    def __init__(self, settings: Settings):
        # Browsers keep cookies by host, not by port: two workbenches on one host need two names.
        mark = hashlib.sha256(b"cookie name:" + settings.secret).hexdigest()[:8]
        self.name = f"__Host-isthmus_{mark}" if settings.https else f"isthmus_{mark}"
        self._settings = settings
        self._serializer = URLSafeTimedSerializer(settings.secret, salt="isthmus-session")

    def read(self, value: str | None) -> Session | None:
        """Return the session of a cookie.

        Parameters
        ----------
        value : str or None
            Value of the cookie.

        Returns
        -------
        Session or None
            The session, or None if the cookie is missing, expired or not signed by this server.
        """
        if not value:
            return None
        try:
            return Session(*self._serializer.loads(value, max_age=self._settings.session_seconds))
        except (BadData, ValueError, TypeError):
            return None

    def new(self, person: str | None = None, stamp: str | None = None) -> Session:
        """Create a session with a new key, so that no key from before the sign-in continues.

        Parameters
        ----------
        person : str, optional
            Id of the signed-in person.
        stamp : str, optional
            The person's ``session_key``.

        Returns
        -------
        Session
            The session.
        """
        return Session(secrets.token_urlsafe(24), person, stamp)

    def header(self, session: Session) -> str:
        """Return the ``Set-Cookie`` header that sends a session to the browser.

        Parameters
        ----------
        session : Session
            The session.

        Returns
        -------
        str
            Value of the header.
        """
        value = self._serializer.dumps([session.key, session.person, session.stamp])
        secure = "; Secure" if self._settings.https else ""
        return f"{self.name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={self._settings.session_seconds}{secure}"

    def csrf(self, session: Session) -> str:
        """Return the token that every change of a session must carry.

        Parameters
        ----------
        session : Session
            The session.

        Returns
        -------
        str
            Token in hexadecimal digits.
        """
        message = f"csrf:{session.key}".encode()
        return hmac.new(self._settings.secret, message, hashlib.sha256).hexdigest()

    def csrf_holds(self, session: Session | None, token: str | None) -> bool:
        """Return whether a token belongs to a session.

        Parameters
        ----------
        session : Session or None
            The session.
        token : str or None
            Token of the request.

        Returns
        -------
        bool
            True if it does.
        """
        if session is None or not token:
            return False
        # A constant-time comparison reveals nothing about the right token.
        return hmac.compare_digest(self.csrf(session).encode(), token.encode("utf-8", "replace"))


class PasswordLinks:
    """Links for setting a new password: valid for one day, and only until a password is set."""

    def __init__(self, settings: Settings):
        # Another salt than that of cookies, so that neither token passes as the other.
        self._serializer = URLSafeTimedSerializer(settings.secret, salt="isthmus-password")

    def make(self, person: Any) -> str:
        """Create the token of a link.

        Parameters
        ----------
        person : Any
            The person.

        Returns
        -------
        str
            The token.
        """
        return self._serializer.dumps([person.id, self._stamp(person)])

    def read(self, token: str) -> str | None:
        """Return whom a token is for.

        Parameters
        ----------
        token : str
            Token of the link.

        Returns
        -------
        str or None
            Id of the person, or None if the token is forged, expired or damaged.
        """
        found = self._load(token)
        return str(found[0]) if found else None

    def holds(self, token: str, person: Any) -> bool:
        """Return whether a token belongs to a person and no password was set since.

        Parameters
        ----------
        token : str
            Token of the link.
        person : Any
            The person.

        Returns
        -------
        bool
            True if the link is valid.
        """
        return self._load(token) == [person.id, self._stamp(person)] and not person.disabled

    def _load(self, token: str) -> list | None:
        """Return the contents of a token, or None."""
        try:
            person, stamp = self._serializer.loads(token, max_age=LINK_SECONDS)
        except (BadData, ValueError, TypeError):
            return None
        return [person, stamp]

    def _stamp(self, person: Any) -> str:
        """Return a value that changes with the person's password."""
        # The session key changes with the password, so the link stops working.
        return hashlib.sha256(f"password:{person.session_key}".encode()).hexdigest()[:32]


class Passwords:
    """Password hashes by argon2. An unknown name takes as long as a wrong password."""

    def __init__(self, **cost: Any):
        self._hasher = PasswordHasher(**cost)
        # This hash is verified for unknown names, so that the time does not reveal which accounts exist.
        self._nobody = self._hasher.hash(secrets.token_urlsafe(16))
        self._turns = threading.Semaphore(4)  # one check takes 64 MiB of memory

    def hash(self, password: str) -> str:
        """Return the hash of a password.

        Parameters
        ----------
        password : str
            The password.

        Returns
        -------
        str
            The hash to store.

        Raises
        ------
        UsageError
            If the password is too short or too long.
        """
        check_password(password)
        with self._turns:
            return self._hasher.hash(password)

    def verify(self, kept: str | None, password: str) -> bool:
        """Return whether a password matches a hash.

        Parameters
        ----------
        kept : str or None
            Stored hash, or None for an unknown person.
        password : str
            The password.

        Returns
        -------
        bool
            True if it matches.
        """
        with self._turns:
            try:
                right = self._hasher.verify(kept or self._nobody, password[: LONGEST_PASSWORD + 1])
            except (VerifyMismatchError, VerificationError, InvalidHashError, UnicodeEncodeError):
                return False
        # The dummy hash never counts as a match.
        return bool(right and kept)


def check_password(password: str) -> None:
    """Raise an error if a password is too short, too long or cannot be encoded.

    Parameters
    ----------
    password : str
        The password.

    Raises
    ------
    UsageError
        If the password is not allowed.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise UsageError(
            f"The password has {len(password):,} characters; use {SHORTEST_PASSWORD} to {LONGEST_PASSWORD:,}."
        )
    try:
        password.encode()
    except UnicodeEncodeError:
        raise UsageError("The password contains characters that cannot be encoded.") from None


class RateLimiter:
    """Allow a number of failures per key within a time.

    Parameters
    ----------
    most : int
        Largest number of failures.
    seconds : float
        Seconds after which a failure no longer counts.
    keys : int, default=10_000
        Largest number of stored keys, which bounds the memory.
    """

    def __init__(self, most: int, seconds: float, *, keys: int = 10_000):
        self.most, self.seconds, self._keys = most, seconds, keys
        self._failures: dict[str, deque[float]] = {}
        # Reentrant, because take() calls wait() and failed() under the lock.
        self._lock = threading.RLock()

    def take(self, key: str) -> float:
        """Count an attempt as a failure before its outcome is known.

        Simultaneous attempts therefore cannot exceed the limit. :meth:`cleared` and :meth:`forgiven` undo the count.

        Parameters
        ----------
        key : str
            Key of the attempt.

        Returns
        -------
        float
            0 if the attempt is allowed, else the seconds to wait.
        """
        with self._lock:
            wait = self.wait(key)
            if not wait:
                self.failed(key)
            return wait

    def wait(self, key: str, *, now: float | None = None) -> float:
        """Return the seconds until a key may try again.

        Parameters
        ----------
        key : str
            Key of the attempts.
        now : float, optional
            Time of the monotonic clock in seconds, for tests.

        Returns
        -------
        float
            0 if an attempt is allowed now.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            times = self._recent(key, now)
            return times[0] + self.seconds - now if len(times) >= self.most else 0.0

    def failed(self, key: str, *, now: float | None = None) -> None:
        """Count a failure.

        Parameters
        ----------
        key : str
            Key of the attempt.
        now : float, optional
            Time of the monotonic clock in seconds, for tests.
        """
        now = time.monotonic() if now is None else now
        with self._lock:
            times = self._recent(key, now)
            # An attacker with many addresses must not fill the memory.
            while not times and len(self._failures) >= self._keys:
                self._failures.pop(next(iter(self._failures)))
            times.append(now)
            self._failures[key] = times

    def forgiven(self, key: str) -> None:
        """Undo the latest failure of a key, because the attempt succeeded.

        Parameters
        ----------
        key : str
            Key of the attempt.
        """
        with self._lock:
            times = self._failures.get(key)
            if times:
                times.pop()

    def cleared(self, key: str) -> None:
        """Forget all failures of a key after a success.

        Parameters
        ----------
        key : str
            Key of the attempts.
        """
        with self._lock:
            self._failures.pop(key, None)

    def _recent(self, key: str, now: float) -> deque[float]:
        """Return the times of a key's failures that still count."""
        times = self._failures.get(key, deque(maxlen=self.most))
        while times and times[0] <= now - self.seconds:
            times.popleft()
        if not times:
            self._failures.pop(key, None)
        return times
