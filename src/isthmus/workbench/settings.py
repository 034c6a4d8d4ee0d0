"""The settings of a running workbench: where it listens, who may come in, how much may be sent."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.exceptions import UsageError

MIB = 2**20
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Settings:
    """How a workbench runs.

    Parameters
    ----------
    host, port : where it listens
    accounts : bool
        People sign in. If False there is one person, and only local connections are accepted.
    secret : bytes
        Signs cookies and tokens.
    max_upload : int
        Bytes of a file that is sent.
    max_unpacked : int
        Bytes to which a packed file may unpack.
    max_body : int
        Bytes of any other request.
    max_stranger : int
        Bytes of a request of somebody who has not signed in.
    max_requests : int
        Requests under way at a time.
    max_strangers : int
        How many of them may be changes (sign-ins) by people who have not signed in.
    max_stranger_requests : int
        How many of those may come from one address.
    max_connections : int
        Open connections, idle ones included.
    head_seconds : float
        How long the headers of a request may take.
    https : bool
        Cookies are sent over https alone; for a server behind a proxy that speaks it.
    names : tuple of str
        Further names under which the server is reached, beside ``host`` and this machine's loopback names.
    proxies : tuple of str
        Addresses or networks of proxies whose word about where a request came from is taken.
    session_seconds : int
        How long a sign-in lasts.

    Examples
    --------
    >>> from isthmus.workbench import Settings
    >>> Settings(host="0.0.0.0", accounts=True).max_upload // 2**20
    200
    """

    host: str = "127.0.0.1"
    port: int = 8765
    accounts: bool = False
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(_SECRET_BYTES), repr=False)
    max_upload: int = 200 * MIB
    max_unpacked: int = 512 * MIB
    max_body: int = 2 * MIB
    max_stranger: int = 64 * 2**10
    max_requests: int = 100
    max_strangers: int = 40
    max_stranger_requests: int = 10
    max_connections: int = 1_000
    head_seconds: float = 10.0
    https: bool = False
    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    session_seconds: int = 14 * 24 * 3600

    def answers_to(self, host: str) -> bool:
        """Whether a request that names this host is meant for this server.

        Without it a page elsewhere could point its own name at 127.0.0.1 and read everything (DNS rebinding). A server
        on all addresses is known under names it cannot know; there, a stranger's name carries no cookie.
        """
        name = _without_port(host)
        if name in ("localhost", "127.0.0.1", "::1", *self.names) or name == self.host.lower():
            return True
        return self.accounts and not self.names and is_every_address(self.host)


def _without_port(host: str) -> str:
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_every_address(host: str) -> bool:
    """Whether the address stands for all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def check_proxies(proxies: Sequence[str]) -> tuple[str, ...]:
    """Addresses and networks of proxies, as they were given; anything else is refused."""
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise UsageError(
                f"--proxy is {proxy[:80]!r}; give the proxy's address, such as 10.0.0.7, or its network, such as "
                "172.16.0.0/12."
            ) from None
    return tuple(proxies)


def load_secret(folder: Path) -> bytes:
    """The workspace's secret; made on first use, readable by its owner alone."""
    path = Path(folder) / "secret.key"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        secret = path.read_bytes()
        if len(secret) < _SECRET_BYTES:
            raise UsageError(
                f"{path} is damaged; delete it to have a new one made (everybody must then sign in again).",
                code="unreadable-file",
            ) from None
        return secret
    with os.fdopen(handle, "wb") as out:
        secret = secrets.token_bytes(_SECRET_BYTES)
        out.write(secret)
    return secret
