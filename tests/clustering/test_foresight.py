import numpy as np
import pytest

from isthmus.clustering.alignment import prepare
from isthmus.clustering.guidance import estimate_guidance_gain
from isthmus.exceptions import UsageError


def prepared_for(task, codes=None):
    X, groups, domain = task
    codes = groups[domain > 0] if codes is None else codes
    return prepare(X[domain > 0], codes, np.ones(len(codes), dtype=int), X[domain < 0])


def test_a_plain_source_is_expected_to_help_more_than_a_scrambled_one(task):
    good = estimate_guidance_gain(prepared_for(task), n_clusters=3)
    scrambled = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], 40))
    bad = estimate_guidance_gain(prepared_for(task, scrambled), n_clusters=3)
    assert good.matchability > bad.matchability + 0.1
    assert good.expected > bad.expected
    assert not bad.helps
    assert "not expected to help" in bad.reason


def test_the_sign_of_the_expected_gain_is_the_answer(task):
    seen = estimate_guidance_gain(prepared_for(task), n_clusters=3, guidance=0.25)
    assert seen.expected == pytest.approx(0.25 * (seen.matchability - seen.clusterability))
    assert seen.helps == (seen.expected > -1e-9)
    assert seen.as_row()["mab"] == seen.matchability


def test_same_seed_same_answer(task):
    first, second = (estimate_guidance_gain(prepared_for(task), n_clusters=3, random_state=2) for _ in range(2))
    assert first == second


def test_without_a_source_there_is_nothing_to_foresee(task):
    X, _, domain = task
    with pytest.raises(UsageError):
        estimate_guidance_gain(prepare(None, None, None, X[domain < 0]), n_clusters=3)


def test_a_source_that_changes_nothing_does_no_harm(task):
    """A tie counted against the source."""
    found = estimate_guidance_gain(prepared_for(task), n_clusters=3, guidance=0.0)
    assert found.expected == pytest.approx(0.0, abs=1e-12)
    assert found.helps
