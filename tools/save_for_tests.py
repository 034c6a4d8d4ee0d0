"""Save a labelling, a taught one and a grouping with the present version, for tests that later versions load them.

Run once for each release, before its tag: ``python tools/save_for_tests.py`` writes ``NAME-VERSION.isthmus`` into
``tests/api/saved``, and ``VERSION.json`` with what they must answer. Files of released versions are never replaced.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import isthmus
from isthmus.corpus import load_sample

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "api" / "saved"
LATER = ["The man at the counter was rude.", "Far too expensive for what it is.", "The engine is strong and quiet."]


def main() -> None:
    """Write the files of this version."""
    motorcycles, cars, truth = load_sample()
    source, labels, target = motorcycles.texts[:80], motorcycles.labels[:80], cars.texts[:40]
    version, expected = isthmus.__version__, {}
    FOLDER.mkdir(exist_ok=True)
    labelled = isthmus.label(source, labels, target, method="nbc", embed=False, random_state=0)
    labelled.ids = cars.ids[:40]
    taught = labelled.teach({name: truth[name] for name in cars.ids[:12]}, name="answers.csv")
    grouped = isthmus.cluster(source, labels, target, n_clusters=4, random_state=0)
    for name, result in (("labelled", labelled), ("taught", taught), ("grouped", grouped)):
        result.save(FOLDER / f"{name}-{version}.isthmus", force=True)
        expected[name] = {
            "labels": [str(label) for label in result.labels[:10]],
            "later": [str(label) for label in result.predict(LATER)],
        }
    (FOLDER / f"{version}.json").write_text(json.dumps({"texts": LATER, **expected}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
