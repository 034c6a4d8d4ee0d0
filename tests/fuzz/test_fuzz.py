"""A slice of the fuzz suite, and every finding that was ever mended; ``make fuzz`` runs the rest."""

import random
from pathlib import Path

import pytest
from fuzz_kinds import KINDS, warm_up
from fuzz_run import run_case

CASES = {
    "read text files": 100,
    "write tables": 80,
    "fit estimators": 100,
    "load models": 40,
    "label texts": 40,
    "group texts": 30,
}
SEEDS = Path(__file__).parent / "seeds"
FINDINGS = [line for line in (SEEDS / "findings.txt").read_text(encoding="utf-8").splitlines() if line.strip()]

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def warm():
    warm_up()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "survive faults"])
def test_a_slice_of_each_kind(kind):
    """The first numbers of the kind: the same ones on every machine, so that a green suite stays green."""
    for number in range(CASES.get(kind, 5)):
        try:
            run_case(kind, number)
        except BaseException as error:
            error.add_note(f"replay: python tests/fuzz/fuzz_run.py --replay {kind!r}:{number}")
            raise


@pytest.mark.parametrize("name", FINDINGS)
def test_mended_findings_stay_mended(name):
    kind, _, number = name.rpartition(":")
    run_case(kind, int(number))


def test_an_input_is_drawn_from_its_name_alone():
    import fuzz_inputs

    drawn = [fuzz_inputs.table_rows(random.Random("a:1")) for _ in range(2)]
    assert drawn[0] == drawn[1]
