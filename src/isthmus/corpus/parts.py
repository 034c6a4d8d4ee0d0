"""Hidden part files: what is being written, beside the place it will take.

The name says which process of which machine is writing, so that a part left behind by a process that was killed can be
told from one that is still growing, and is removed the next time something is written into the folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_PART = re.compile(r"\..{0,20}\.(?P<host>[0-9a-f]{8})-(?P<pid>[0-9]+)-[0-9a-f]{8}\.isthmus-part")


def create_part(real: Path) -> Path:
    """An empty file beside ``real`` that only this process knows, with the mode that ``real`` has or would get."""
    remove_stale_parts(real.parent)
    name = f".{real.name[:20]}.{_host()}-{os.getpid()}-{secrets.token_hex(4)}.isthmus-part"
    part = real.parent / name
    mode = _mode_of(real)
    # A new file gets what the user's mask leaves of 0666, as the system does it for every file. One that replaces
    # another stays private until it has the other's mode.
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600))
    if mode is not None:
        with suppress(OSError):
            os.chmod(part, mode)
    return part


def remove_stale_parts(folder: Path) -> int:
    """Remove parts whose process is gone; gives back how many."""
    removed = 0
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    for name in names:
        found = _PART.fullmatch(name)
        if found and found["host"] == _host() and not _is_running(int(found["pid"])):
            with suppress(OSError):
                os.unlink(folder / name)
                removed += 1
    return removed


def is_device(path: Path) -> bool:
    """Whether the path is a pipe, a socket or a device such as /dev/null: written to, never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode_of(real: Path) -> int | None:
    try:
        return stat.S_IMODE(real.stat().st_mode)
    except OSError:
        return None


def _host() -> str:
    return hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # somebody else's, or not to be asked: leave it
    return True
