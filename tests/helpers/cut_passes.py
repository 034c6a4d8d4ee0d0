"""Rows in memory that a fit is given in several blocks a side."""

import operator
from functools import partial, reduce

import numpy as np

from isthmus.features.blocks import Block, Passes, RowBlock


class CutPasses(Passes):
    """``cuts`` as ``numpy.array_split`` takes them: how many blocks, or where each but the first begins."""

    def __init__(self, source, target, codes, classes, cuts):
        super().__init__(source, target, codes, classes)
        unlabelled = np.zeros(self.n_target)
        self.parts = {}
        for side, X, own in (("source", source, codes), ("target", target, unlabelled)):
            blocks = np.array_split(np.arange(X.shape[0]), cuts)
            self.parts[side] = [
                Block(side, partial(RowBlock.of, X[rows]), codes=own[rows].astype(np.int32)) for rows in blocks
            ]

    def sum(self, function, sides, *args, phase, add=operator.add):
        names = ("source", "target") if sides == "both" else (sides,)
        return reduce(add, (function(part, *args) for name in names for part in self.parts[name]))
