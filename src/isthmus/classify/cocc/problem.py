"""What a co-clustering run works on, whoever holds the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isthmus._math.cocc import CountBlocks


@dataclass
class Problem:
    """All that the search needs, whoever holds the rows: readers of blocks and the tables made of them."""

    read_source: Callable[[], Iterable[tuple[Any, np.ndarray]]]
    target: CountBlocks
    class_counts: np.ndarray
    priors: np.ndarray
    fixed: np.ndarray | None = None  # document clusters that must stay (no target: the classes themselves)

    @property
    def n_words(self) -> int:
        return self.class_counts.shape[0]

    def read_all(self) -> Iterable[Any]:
        """Blocks of both domains, for the words' document profiles."""
        for block, _ in self.read_source():
            yield block
        if self.fixed is None:
            yield from self.target.read()
