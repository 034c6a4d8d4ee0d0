"""How the dual methods' defaults were set: five newsgroups that the benchmark does not use, and two source domains.

The recipes' settings come from halves of the books and the kitchen reviews, each labelled in one half. Those two are
targets of benchmark pairs too; the rows "left out" say what a pair would choose by the domain that is not in it.
"""

from __future__ import annotations

import warnings
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._progress import progress
from isthmus.bench.suites.dual_data import NEGATIVE_FILE, POSITIVE_FILE, TUNING_GROUPS, lexicon, newsgroup_data
from isthmus.bench.suites.tuning import choice_rows
from isthmus.bench.tasks import AMAZON_DOMAINS, AMAZON_FILE, NEWSGROUPS_FILE, amazon_task
from isthmus.classify.dual.manifold import ManifoldDualClassifier
from isthmus.evaluate.pairs import pair_scores
from isthmus.exceptions import IsthmusWarning
from isthmus.recipes import make_recipe

ESTIMATOR_FILES = (NEWSGROUPS_FILE,)
RECIPE_FILES = (AMAZON_FILE, POSITIVE_FILE, NEGATIVE_FILE)
WORDS = (0, 100, 500)
DRAWS = 3
ESTIMATOR: dict[str, dict[str, Any]] = {
    "defaults": {},
    **{f"gamma {value:g}": {"gamma": value} for value in (0.01, 0.1, 1.0)},
    **{f"mu {value:g}": {"mu": value} for value in (0.3, 1.0, 10.0)},
    **{f"power {value}": {"power": value} for value in (1, 4, 8)},
    **{f"normalisation {value}": {"class_normalisation": value} for value in (None, "labels", "scores")},
}
RECIPE: dict[str, dict[str, Any]] = {
    "defaults": {},
    **{f"gamma {value:g}": {"gamma": value} for value in (0.3, 1.0, 10.0, 30.0)},
    **{f"mu {value:g}": {"mu": value} for value in (0.1, 0.3, 3.0, 10.0)},
}


def choose_estimator(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """F on the unlabelled documents of the five other newsgroups, by setting: mean over draws and labelled words."""
    data = newsgroup_data(Path(folder), TUNING_GROUPS)
    rows = []
    for draw in range(DRAWS):
        rng = np.random.RandomState(draw)
        train, columns = rng.permutation(len(data.rows))[:500], rng.permutation(len(data.columns))
        y = np.where(np.arange(500) < 75, data.rows[train], -1)
        for setting, changes in ESTIMATOR.items():
            scores = []
            for size in WORDS:
                words = {int(j): int(data.columns[j]) for j in columns[:size]}
                model = ManifoldDualClassifier(word_labels=words, random_state=0, **changes).fit(data.X[train], y)
                scores.append(pair_scores(data.rows[train[75:]], model.transduction_[75:]).f1)
            rows.append({"case": f"draw {draw}", "corpora": "", "setting": setting, "pair_f1": float(np.mean(scores))})
        progress("draws", draw + 1, DRAWS)
    return choice_rows(rows, "pair_f1", {}, largest=True)


def choose_recipe(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Accuracy on the other half of a domain with 1,000 labelled reviews and the lexicon, by the recipe's setting."""
    words = lexicon(Path(folder))
    rows = []
    for domain in ("books", "kitchen"):
        other = next(name for name in AMAZON_DOMAINS if name != domain)
        data = amazon_task(domain, other).load(Path(folder))
        truth = np.array(data.source_labels, dtype=object)
        held = np.arange(len(truth)) % 2 == 1
        y = truth.copy()
        y[held] = None
        for setting, changes in RECIPE.items():
            pipeline = make_recipe("dual-manifold", word_labels=words)
            pipeline.steps[-1][1].set_params(**changes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", IsthmusWarning)
                pipeline.fit(data.source_texts, y, sample_domain=np.where(held, -1, 1))
            right = float(np.mean(pipeline.transduction_[held] == truth[held]))
            rows.append({"case": domain, "corpora": domain, "setting": setting, "accuracy": right})
        progress("domains", len(rows) // len(RECIPE), 2)
    cases = {f"{source}-{target}": (source, target) for source, target in permutations(AMAZON_DOMAINS, 2)}
    return choice_rows(rows, "accuracy", cases, largest=True)
