"""Binary tables are read once in a process of their own before they are read in this one.

The readers of parquet and xlsx are compiled: a damaged or forged file can make them ask for memory that no machine
has, and then the whole process ends, with no error to catch. A trial elsewhere turns that into a sentence.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from isthmus.corpus.limits import too_large, unpack_limit
from isthmus.exceptions import DataError

_SECONDS, _SECONDS_PER_BYTE = 60.0, 2e-6
_ROOM = 16 * 2**30  # address space beyond what the table itself may take: threads and libraries reserve a lot

_CODE = """
import io, json, sys
kind, room, sheet = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
data = sys.stdin.buffer.read()
try:
    if kind == "parquet":
        import polars
        size = polars.read_parquet(io.BytesIO(data)).estimated_size()
    else:
        import fastexcel
        fastexcel.read_excel(data).load_sheet(sheet, header_row=None, dtypes="string")
        size = 0
    print(json.dumps({"size": size}))
except BaseException as error:
    print(json.dumps({"error": (str(error).strip() or type(error).__name__).splitlines()[0][:300]}))
"""


def try_reading(data: bytes, kind: str, name: str, *, sheet: int = 0) -> None:
    """Refuse a file (or a sheet of it) that cannot be read as ``kind`` ("parquet" or "xlsx"), whatever happens."""
    limit = unpack_limit()
    command = [sys.executable, "-P", "-c", _CODE, kind, str(8 * limit + _ROOM), str(sheet)]
    try:
        done = subprocess.run(
            command,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS + _SECONDS_PER_BYTE * len(data),
            env={**os.environ, "POLARS_MAX_THREADS": "2"},
            check=False,
        )
        outcome = json.loads(done.stdout or b"{}")
    except subprocess.TimeoutExpired:
        raise unreadable(name, kind, "its reader came to no end") from None
    except (OSError, ValueError):
        return  # no interpreter to be had for a trial (a program with Python inside): read it here
    if "error" in outcome:
        raise unreadable(name, kind, outcome["error"])
    if done.returncode != 0 or "size" not in outcome:
        raise unreadable(name, kind, "its reader broke down")
    if outcome["size"] > limit:
        raise too_large(name, outcome["size"])


def unreadable(name: str, kind: str, reason: str) -> DataError:
    """The refusal of a file that is not what its name promises."""
    return DataError(
        f"{name} cannot be read as {kind} ({reason[:120]}); check that the file is whole and its ending right.",
        code="unreadable-file",
    )
