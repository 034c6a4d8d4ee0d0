"""Settings of a running workbench: where it listens, who may sign in, and how much a client may send."""

from __future__ import annotations

import ipaddress
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.exceptions import UsageError

# Bytes.
MIB = 2**20
# Length of the secret: 256 bits.
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Settings:
    """Settings of a workbench.

    Parameters
    ----------
    host : str
        Address to listen on.
    port : int
        Port to listen on.
    accounts : bool
        Whether people sign in. If False there is one person, and only local connections are accepted.
    secret : bytes
        Key that signs cookies and tokens.
    max_upload : int
        Largest uploaded file in bytes.
    max_unpacked : int
        Largest size in bytes of a compressed file's content.
    max_body : int
        Largest body in bytes of any other request.
    max_stranger : int
        Largest body in bytes of a request from somebody who has not signed in.
    max_requests : int
        Largest number of simultaneous requests.
    max_strangers : int
        How many of them may be changes (sign-ins) by people who have not signed in.
    max_stranger_requests : int
        How many of those may come from one address.
    max_connections : int
        Largest number of open connections, including idle ones.
    head_seconds : float
        Seconds after which connections are examined; one without a request since the last time is closed.
    https : bool
        Whether cookies are sent only over https, for a server behind a proxy that speaks it.
    names : tuple of str
        Names under which the server is reached, in addition to ``host`` and this machine's loopback names.
    proxies : tuple of str
        Addresses or networks of proxies that are trusted to report a client's address.
    session_seconds : int
        Seconds after which people must sign in again.

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
        """Return whether a request with this host is meant for this server.

        Without this check, a foreign page could point its own name at 127.0.0.1 and read everything (DNS rebinding). A
        server on all addresses cannot know its names; there, accounts protect it, because a foreign name has no cookie.

        Parameters
        ----------
        host : str
            Host header of the request.

        Returns
        -------
        bool
            True if the host is the server's.
        """
        name = _without_port(host)
        # The machine itself always reaches the server under these names.
        if name in ("localhost", "127.0.0.1", "::1", *self.names) or name == self.host.lower():
            return True
        return self.accounts and not self.names and is_every_address(self.host)


def _without_port(host: str) -> str:
    """Return a host without its port and brackets, in lower case."""
    host = host.strip().lower()
    # An IPv6 address contains colons, so it has brackets in front of the port.
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Parameters
    ----------
    host : str
        Name or address.

    Returns
    -------
    bool
        True for loopback addresses.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_every_address(host: str) -> bool:
    """Return whether an address means all addresses of the machine.

    Parameters
    ----------
    host : str
        Name or address.

    Returns
    -------
    bool
        True for 0.0.0.0 and ::.
    """
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def check_proxies(proxies: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses and networks of proxies unchanged after checking them.

    Parameters
    ----------
    proxies : Sequence[str]
        Addresses or networks.

    Returns
    -------
    tuple[str, ...]
        The same addresses and networks.

    Raises
    ------
    UsageError
        If one is neither an address nor a network.
    """
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
    """Load the workspace's secret, or create one that only its owner can read.

    Parameters
    ----------
    folder : Path
        Folder of the workspace.

    Returns
    -------
    bytes
        The secret.

    Raises
    ------
    UsageError
        If the file is damaged.
    """
    path = Path(folder) / "secret.key"
    try:
        # O_EXCL lets only one of two processes create the file.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        secret = path.read_bytes()
        # A shorter secret could be guessed, and signatures with it forged.
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
