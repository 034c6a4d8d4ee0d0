"""Find the ends of the records of a csv file in its bytes, with a compiled loop."""

from __future__ import annotations

import numpy as np

from isthmus._math.compiled import compiled

# States within a cell: at its start, in an unquoted cell, inside quotation marks, after the closing mark.
START, PLAIN, QUOTED, CLOSED = 0, 1, 2, 3
_QUOTE, _FEED = 34, 10  # byte codes of the quotation mark and of the line feed


@compiled
def record_ends(data, delimiter, state, ends):
    """Write the offset after each line feed that ends a record to ``ends``.

    A line feed between quotation marks belongs to its cell. As in the csv module, a quotation mark opens a cell only at
    its start. After a closing mark, any byte except a separator continues the cell without quotes.

    Parameters
    ----------
    data : ndarray of uint8
        Bytes of the file.
    delimiter : int
        Byte that separates cells.
    state : int
        State at the first byte.
    ends : ndarray of int64
        Receives the offsets; at least as long as the number of line feeds.

    Returns
    -------
    count : int
        Number of offsets.
    state : int
        State after the last byte.
    """
    count = 0
    for at in range(data.shape[0]):
        byte = data[at]
        # 0 to 3 are START, PLAIN, QUOTED and CLOSED.
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
    """Return the ends of the records in some bytes.

    Parameters
    ----------
    data : bytes
        Bytes of the file.
    delimiter : str or None
        Character that separates cells; None if every line is a record.
    state : int
        State at the first byte.

    Returns
    -------
    ends : ndarray of int64
        Offsets after the line feeds that end a record.
    state : int
        State after the last byte, for the next call.
    """
    bytes_ = np.frombuffer(data, dtype=np.uint8)
    if delimiter is None:
        return np.flatnonzero(bytes_ == _FEED) + 1, START
    ends = np.empty(data.count(b"\n"), dtype=np.int64)
    count, state = record_ends(bytes_, ord(delimiter), state, ends)
    return ends[:count], state
