"""Single steps of the methods that run in blocks, on a handful of texts."""

from functools import reduce
from types import SimpleNamespace

import numpy as np

from isthmus.scale.methods import strings

SOURCE = ["kind staff", "rude staff here", "friendly staff", "fast bike", "slow bike today", "strong bike"]
TARGET = ["kind staff again", "polite clerk", "the staff", "fast car", "slow engine", "bike and car", "no words"]


def test_strings_learn_from_the_surer_half_of_the_target(monkeypatch):
    """Half of the rows divided by their number instead of multiplied: the surest document alone."""
    texts, found = {"source": SOURCE, "target": TARGET}, []
    codes = np.repeat([1, 0], 3).astype(np.int32)
    monkeypatch.setattr(strings, "kept_steps", lambda piece, job, name, make: make(texts[piece.side]))
    monkeypatch.setattr(strings, "load_codes", lambda store, piece, classes: codes)

    def add_up(function, pieces, *arguments, phase, add=np.add):
        parts = [function(piece, SimpleNamespace(store=None), *arguments) for piece in pieces]
        if function is strings.moments:
            found.append([part[3].sum() for part in parts])
        return reduce(add, parts)

    classes = np.array(["bike", "staff"], dtype=object)
    problem = SimpleNamespace(
        view=SimpleNamespace(reading=SimpleNamespace(languages=("en",))),
        sample=(SOURCE, classes[codes].tolist()),
        target_sample=TARGET,
        source=[SimpleNamespace(side="source")],
        target=[SimpleNamespace(side="target")],
        classes=classes,
        sum=add_up,
    )
    strings.fit(problem)
    assert found == [[6, 0], [6, 4]]  # four of seven are the fewest that are at least half
