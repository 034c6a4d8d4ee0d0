"""Where records of a csv file end, found on its bytes: the one loop over every byte of a large file, compiled."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled

START, PLAIN, QUOTED, CLOSED = 0, 1, 2, 3  # within a cell: at its start, without quotes, inside them, behind them
_QUOTE, _FEED = 34, 10


@compiled
def record_ends(data, delimiter, state, ends):
    """Offsets behind each line feed that ends a record, written to ``ends``; how many, and the state at the end.

    A line feed between quotation marks belongs to its cell. A mark opens a cell only at its start, as the csv module
    has it; behind a closing mark anything but a separator goes on without quotes.
    """
    count = 0
    for at in range(data.shape[0]):
        byte = data[at]
        if state == 2:
            if byte == _QUOTE:
                state = 3
        elif byte == _FEED:
            ends[count] = at + 1
            count += 1
            state = 0
        elif byte == delimiter:
            state = 0
        elif byte == _QUOTE and (state == 0 or state == 3):
            state = 2
        else:
            state = 1
    return count, state


def scan(data: bytes, delimiter: str | None, state: int) -> tuple[np.ndarray, int]:
    """Ends of the records in ``data``, and the state to go on with; without a delimiter every line is a record."""
    bytes_ = np.frombuffer(data, dtype=np.uint8)
    if delimiter is None:
        return np.flatnonzero(bytes_ == _FEED) + 1, START
    ends = np.empty(data.count(b"\n"), dtype=np.int64)
    count, state = record_ends(bytes_, ord(delimiter), state, ends)
    return ends[:count], state
