"""Guaranteed labels: exact small cases, budgets that are kept however long one looks, and what is drawn for them."""

import copy
import dataclasses

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import hypergeom

import isthmus
from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.samples import budget_evidence
from isthmus.choose import guarantee, reading_frame
from isthmus.choose.guaranteed import SHIFTS, Belief, Ladder, climb, draw_to_decide, make_ladder, next_step
from isthmus.exceptions import DataError, UsageError


def world(n=1000, shift=0.0, seed=0, mean=2.0):
    """Confidences from the surest down, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    log_odds = np.sort(rng.normal(mean, 1.5, n))[::-1]
    return expit(log_odds), rng.random(n) > expit(log_odds + shift)


@pytest.mark.parametrize(("population", "n"), [(20, 8), (40, 25)])
def test_evidence_is_worth_at_most_one_where_the_limit_is_just_broken(population, n):
    # Before any label is found wrong, the fewest that break a limit are one more.
    allowed = population // 10
    breaking = allowed + 1
    wrong = np.arange(breaking + 1)
    chance = hypergeom.pmf(wrong, population, breaking, n)
    # Wrong labels that were found are forgiven, so that only the first term meets the null exactly.
    value = np.exp(np.minimum(budget_evidence(wrong, n, population, allowed), 700))
    likelihood = value[0] * chance[0]
    assert likelihood <= 1, f"the e-value of no wrong label counts {likelihood:.2f}, expected at most 1"


def test_all_read_says_all():
    assert budget_evidence(2, 20, 20, 2) == np.inf, "nothing is left that could be wrong"
    assert budget_evidence(0, 17, 20, 2) < np.inf, "three unread labels can be three wrong ones"
    assert budget_evidence(0, 18, 20, 2) == np.inf, "two unread labels are at most two wrong ones"
    assert budget_evidence(0, 0, 20, 20) == np.inf, "a limit of all labels needs no reading"
    assert budget_evidence(0, 19, 20, 0) < np.inf, "one unread label can be wrong"


def test_evidence_asks_for_more_the_more_is_wrong():
    found = budget_evidence(np.arange(8), 100, 1000, 100)
    assert (np.diff(found) < 0).all(), f"expected falling evidence, found {found}"


def test_sets_are_tested_from_small_to_large_until_one_fails():
    """Of 10, 30 and 60 documents at most 10 may be wrong: the first set needs no reading."""
    ladder = Ladder(np.array([10, 30, 60]), 10)
    needed = 1 - 0.05
    cases = [((0, 0, 0), (0, 0, 0), 10), ((3, 10, 20), (0, 0, 0), 60), ((3, 10, 20), (0, 9, 9), 10)]
    for n, wrong, passed in cases:
        assert climb(ladder, np.array(n), np.array(wrong)) == passed, f"{wrong} wrong of {n}"
    assert climb(ladder._replace(level=1 - 1e-9), np.array((3, 10, 20)), np.zeros(3, dtype=int)) == 10
    assert ladder.level == pytest.approx(needed)


def test_the_smallest_set_is_as_large_as_the_budget_of_the_file():
    for allowed in (0, 1, 100, 1000, 2000):
        ladder = make_ladder(1000, allowed)
        assert ladder.sizes[-1] == 1000
        assert (np.diff(ladder.sizes) > 0).all()
        assert ladder.sizes[0] == (25 if allowed == 0 else min(allowed, 1000))


def test_without_reading_as_many_pass_as_the_budget_allows_to_be_wrong():
    found = guarantee(np.linspace(0.99, 0.6, 1000), [], [], 0.1)
    assert (found.documents, found.unread, found.read) == (100, 100, 0)
    half = guarantee(np.linspace(0.99, 0.6, 1000), [], [], 0.1, eligible=np.arange(1000) < 500)
    assert half.documents == 100, "documents that are read in any case are right labels of the file"


@pytest.mark.parametrize("shift", [-1.5, 0.0])
def test_a_guarantee_is_rarely_broken_though_one_looks_after_every_page(shift):
    _, wrong = world(400, shift)
    ladder = make_ladder(400, 40)
    drawn = np.array([np.random.default_rng(seed).permutation(400) for seed in range(400)])
    broken = np.zeros(len(drawn), dtype=bool)
    in_all = np.cumsum(wrong)[ladder.sizes - 1]
    for n in range(20, 241, 20):
        inside = drawn[:, :n, None] < ladder.sizes
        read, found = inside.sum(axis=1), (inside & wrong[drawn[:, :n, None]]).sum(axis=1)
        passed = climb(ladder, read, found)
        place = np.searchsorted(ladder.sizes, passed)
        left = in_all[place] - np.take_along_axis(found, place[:, None], axis=1)[:, 0]
        broken |= (passed > 0) & (left > 40)
    # 5% of 400 are 20; more than 31 would happen by chance once in a hundred times.
    assert broken.sum() <= 31, f"{broken.sum()} of 400 guarantees were broken, expected at most one in twenty"


def test_more_right_labels_let_more_pass():
    confidence, _ = world()
    read = np.random.default_rng(0).permutation(1000)[:200]
    sizes = [
        guarantee(confidence, read, np.arange(200) >= wrong, 0.1, expected=AccuracyEstimate(0.85, 0.75, 0.92)).documents
        for wrong in (0, 12, 60)
    ]
    assert 1000 == sizes[0] > sizes[1] > sizes[2] >= 100, f"{sizes} passed with 0, 12 and 60 wrong of 200"


def test_what_cannot_pass_does_not():
    confidence, wrong = world(600, 2.0)
    eligible = np.arange(600) % 3 > 0
    drawn = np.random.default_rng(0).permutation(600)[:300]
    found = guarantee(confidence, drawn, ~wrong[drawn], 0.1, eligible=eligible)
    assert found.documents
    assert not (found.passes & ~eligible).any()
    assert found.eligible == 400
    assert found.read == int(eligible[drawn].sum())


def test_forecast_grows_with_reading_and_ends_with_all_read():
    confidence, wrong = world(500)
    drawn = np.random.default_rng(0).permutation(500)[:60]
    more = guarantee(confidence, drawn, ~wrong[drawn], 0.1).more
    read, documents = zip(*((row["read"], row["documents"]) for row in more), strict=True)
    assert read == (25, 50, 100, 150, 200, 400, 440)
    assert documents[-1] == 500
    assert documents[0] <= documents[2] <= documents[4]


@pytest.mark.parametrize("n", [800, 4_000])
def test_a_belief_counts_the_errors_among_all_documents_though_it_remembers_a_thousand(n):
    confidence, _ = world(n)
    sizes = np.array([n // 10, n // 2, n])
    expected = [1 - confidence[:size].mean() for size in sizes]
    found = Belief.of(confidence).errors(sizes)[SHIFTS == 0.0]
    np.testing.assert_allclose(found, [expected], atol=0.005)


@pytest.mark.parametrize("budget", [0, 1, 10, -0.1])
def test_a_budget_is_a_share(budget):
    with pytest.raises(UsageError, match="share between 0 and 1"):
        reading_frame([0.9, 0.8], budget, 1)


def test_what_is_drawn_is_among_the_surest_and_goes_on_from_what_was_read():
    confidence, wrong = world(1000, 2.0)  # better than expected: a wider frame pays
    texts = [f"text {i}" for i in range(1000)]
    first, frame = draw_to_decide(confidence, texts, 0.1, 60)
    assert len(first) == 60
    assert first.max() < frame < 1000
    assert draw_to_decide(confidence, texts, 0.1, 40)[0].tolist() == first[:40].tolist()
    more, wider = draw_to_decide(confidence, texts, 0.1, 60, read=(first, ~wrong[first], frame))
    assert more[:60].tolist() == first.tolist()
    assert len(set(more.tolist())) == 120
    assert wider > frame
    assert more.max() < wider
    other, same = draw_to_decide(confidence, texts, 0.1, 60, random_state=1, read=(first, ~wrong[first], frame))
    assert (same, len(other)) == (frame, 120), "another order cannot fill up a wider frame"


# -- the door in Python ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled():
    source = [f"{word} {i % 7}" for i in range(40) for word in ("kind staff", "high price")]
    target = [f"{'staff' if i % 2 else 'price'} of visit {i % 13} {i}" for i in range(300)]
    return isthmus.label(source, ["staff", "price"] * 40, target, method="nbc")


@pytest.fixture
def result(labelled):
    """A copy for each test: a check stays with the result it was made of."""
    return copy.deepcopy(labelled)


def truth_of(result, wrong=()):
    return ["parking" if i in wrong else str(label) for i, label in enumerate(result.labels)]


def filled(table, truth):
    return table | {"true_label": [truth[number - 1] for number in table["document"]]}


def test_sample_and_check_with_a_budget(result):
    sample = result.sample(80, budget=0.1)
    assert set(sample["drawn"]) == {"asked"}
    assert len(set(sample["among"])) == 1
    first = sample["document"][0] - 1
    found = result.check(filled(sample, truth_of(result, {first})), budget=0.1)
    passing = found.guarantee
    assert passing.read == 80
    assert passing.wrong == 1
    assert passing.documents > 100
    assert found.among == sample["among"][0] == found.population
    assert result.accuracy is result.expected_accuracy, "the surest are not all"
    assert result.needs_review[first], "a label that was read and is wrong cannot pass as it is"
    assert (~result.needs_review).sum() == passing.documents - 1
    assert passing.unread == passing.documents - 80, "the wrong one, read, is in the set as well"
    said = f"guaranteed: {passing.documents} of 300 labels can pass ({passing.unread} unread), at most 10%"
    assert str(found).startswith(said)
    assert "share" not in str(found), "shares among the surest say nothing about all"
    more = result.sample(20, budget=0.1)
    assert more["true_label"][:80] == found.true_labels
    assert more["true_label"][80:] == [None] * 20


def test_a_whole_sample_tells_both(result):
    found = result.check(filled(result.sample(100), truth_of(result)), budget=0.1)
    assert found.among is None
    assert found.guarantee.documents == 300
    assert result.accuracy.estimate == 1.0


def test_a_label_that_was_read_and_is_right_needs_no_review_outside_the_guaranteed_set(result):
    sample = result.sample(60)
    read = np.array(sample["document"]) - 1
    wrong = sorted(read[::3].tolist())
    found = result.check(filled(sample, truth_of(result, wrong)), budget=0.1)
    known = found.guarantee.passes.copy()
    assert 30 <= known.sum() < 100, "a tenth of 300 labels passes without evidence"
    known[read] = True
    assert sorted(read[result.needs_review[read]].tolist()) == wrong
    assert (result.review_reason == "not guaranteed").sum() == (~known).sum()


def test_without_a_budget_nothing_is_guaranteed(result):
    review = result.needs_review.copy()
    assert result.check(filled(result.sample(50), truth_of(result))).guarantee is None
    assert result.needs_review.tolist() == review.tolist()


def test_answers_that_were_learned_from_guarantee_nothing(result):
    sample = filled(result.sample(30), truth_of(result))
    taught = result.teach(sample)
    with pytest.raises(DataError, match="nobody answered") as error:
        taught.check(sample, budget=0.1)
    assert error.value.code == "bad-check"


def test_answered_documents_are_not_drawn_for_a_guarantee_and_need_no_review_after_it(result):
    truth = truth_of(result)
    taught = result.teach({"document": [*range(1, 41)], "true_label": truth[:40]})
    sample = taught.sample(80, budget=0.1)
    assert min(sample["document"]) > 40
    taught.check(filled(sample, truth), budget=0.1)
    assert not taught.needs_review[:40].any()
    assert set(taught.review_reason[:40]) == {""}


def test_a_sample_of_another_labelling_is_refused(result):
    sample = filled(result.sample(80, budget=0.1), truth_of(result))
    with pytest.raises(DataError, match="another labelling"):
        result.check(sample | {"among": [5] * len(sample["document"])}, budget=0.1)
    with pytest.raises(DataError, match="several draws"):
        result.check(sample | {"among": [200] * 40 + [300] * (len(sample["document"]) - 40)}, budget=0.1)


# -- the next step -----------------------------------------------------------------------------------------------------


def test_the_next_step_saves_more_than_it_costs(result):
    texts = ["four words each here"] * 1000
    confidence, _ = world(1000, mean=3.0)
    expected = AccuracyEstimate(0.9, 0.85, 0.94)
    step = next_step(confidence, np.ones(1000, dtype=bool), 0.1, texts, expected=expected)
    assert step.now == 1000
    assert step.now - step.then > step.read, "what is read for a guarantee must save more than that"
    assert step.minutes == round(step.read * 6 / 60)
    assert str(step).startswith(f"Read {step.read} drawn at random (about {step.minutes} minutes)")
    few = next_step(confidence, confidence < confidence[900], 0.1, texts, expected=expected)
    assert few is None, "a list of a hundred is read at once"


def test_where_nothing_needs_review_a_random_sample_is_the_step(result):
    """A class that the source lacks goes unnoticed by the labels; who draws at random meets it."""
    result.needs_review[:] = False
    step = result.next_step()
    assert (step.read, step.now, step.then) == (min(100, len(result.texts)), 0, 0)
    assert str(step).endswith("they show how many labels are right, and whether a class is missing.")
    result.check(filled(result.sample(20), truth_of(result)))
    assert result.next_step() is None, "a sample was read"


def test_the_next_step_comes_true():
    confidence, wrong = world(1000, mean=3.0)
    step = next_step(confidence, np.ones(1000, dtype=bool), 0.1, ["text"] * 1000)
    left = []
    for seed in range(15):
        rows, among = draw_to_decide(confidence, [f"text {i}" for i in range(1000)], 0.1, step.read, random_state=seed)
        passing = guarantee(confidence, rows, ~wrong[rows], 0.1, among=among).passes
        passing[rows] = True
        left.append(1000 - passing.sum())
    assert abs(np.mean(left) - step.then) <= 0.2 * step.now, f"{np.mean(left):.0f} were left, {step.then} forecast"


def test_after_a_guarantee_there_is_no_other_step(result):
    result.check(filled(result.sample(50, budget=0.1), truth_of(result)), budget=0.1)
    assert result.next_step() is None


def test_a_draw_goes_by_what_was_expected_of_the_labels():
    confidence, _ = world()
    texts = [f"text {row}" for row in range(len(confidence))]
    expected = AccuracyEstimate(0.6, 0.2, 0.99)
    frames = [draw_to_decide(confidence, texts, 0.1, 60, expected=known)[1] for known in (None, expected)]
    assert frames == [reading_frame(confidence, 0.1, 60, expected=known) for known in (None, expected)]
    assert frames[0] != frames[1], f"the expectation changes nothing: {frames}"


def test_less_is_forecast_to_pass_where_less_was_expected_to_be_right():
    """All forty that were read are right, but a source that promised 60% is not forgotten for that."""
    confidence, _ = world()
    rows, right = np.arange(0, 1000, 25), np.ones(40, dtype=bool)
    forecasts = [
        [row["documents"] for row in guarantee(confidence, rows, right, 0.02, expected=known).more]
        for known in (None, AccuracyEstimate(0.6, 0.55, 0.65))
    ]
    after_150_200_400 = zip(forecasts[0][3:6], forecasts[1][3:6], strict=True)
    assert all(less < 0.6 * more for more, less in after_150_200_400), f"without and with it: {forecasts}"


def test_a_guarantee_says_how_many_of_its_labels_nobody_read():
    found = guarantee(np.linspace(0.99, 0.6, 1000), np.arange(0, 1000, 10), np.ones(100, dtype=bool), 0.1)
    assert "1,000 of 1,000 labels can pass (900 unread), at most 10%" in str(found)
    unread_all = dataclasses.replace(found, unread=1000)
    assert "1,000 of 1,000 labels can pass, at most 10%" in str(unread_all), "nobody read one of them"


def test_a_sample_of_the_surest_must_be_of_this_labelling():
    confidence = np.array([0.9, 0.5, 0.8, 0.7])  # the places from the surest down are 0, 3, 1 and 2
    assert guarantee(confidence, [0, 2], [True, True], 0.1, among=2).read == 2
    with pytest.raises(DataError, match="from the 2 most confident documents of another labelling"):
        guarantee(confidence, [0, 3], [True, True], 0.1, among=2)


def test_where_no_label_may_pass_nothing_is_promised_drawn_or_forecast():
    confidence, none = np.linspace(0.99, 0.6, 200), np.zeros(200, dtype=bool)
    found = guarantee(confidence, [0, 1], [True, True], 0.1, eligible=none)
    assert (found.documents, found.eligible, found.read, found.more) == (0, 0, 0, [])
    assert str(found) == (
        "guaranteed: no label yet (at most 10% of the finished file wrong, with 95% confidence); "
        "reading more would change little"
    )
    with pytest.raises(DataError, match="No label could pass"):
        reading_frame(confidence, 0.1, 20, eligible=none)
    assert next_step(confidence, ~none, 0.1, ["a text"] * 200, eligible=none) is None


def test_where_nothing_needs_review_a_hundred_are_read_at_random():
    step = next_step(np.ones(300), np.zeros(300, dtype=bool), 0.1, ["a text"] * 300)
    assert (step.read, step.now, step.then, step.at_random) == (100, 0, 0, True)
    assert str(step).endswith("they show how many labels are right, and whether a class is missing.")
    assert next_step(np.ones(20), np.zeros(20, dtype=bool), 0.1, ["a text"] * 20).read == 20, "all there are"
    assert next_step([], [], 0.1, []) is None, "there is nothing to read"


def test_what_was_read_and_may_not_pass_any_more_is_no_part_of_the_next_draw():
    """Answered in the meantime, say: their rights and wrongs go with them."""
    confidence, texts = np.linspace(0.99, 0.5, 400), [f"text {i}" for i in range(400)]
    rows, frame = draw_to_decide(confidence, texts, 0.1, 40)
    eligible = np.ones(400, dtype=bool)
    eligible[rows[::2]] = False
    right = np.arange(40) % 2 == 1  # those that are left were all right
    drawn, among = draw_to_decide(confidence, texts, 0.1, 20, eligible=eligible, read=(rows, right, frame))
    assert drawn[:20].tolist() == rows[1::2].tolist(), "what is left of the documents read comes first"
    assert eligible[drawn].all(), "documents that may not pass are not drawn"
    assert len(set(drawn.tolist())) == len(drawn) == 40
    kept = rows[1::2]
    alone = draw_to_decide(confidence, texts, 0.1, 20, eligible=eligible, read=(kept, right[1::2], frame))
    assert (drawn.tolist(), among) == (alone[0].tolist(), alone[1]), "as if the others had never been read"


def test_what_is_drawn_for_a_budget_comes_from_the_frame_of_those_that_may_pass():
    """Where the surest 1,200 of 2,000 documents may not pass, the frame is that of the other 800."""
    confidence, eligible = np.linspace(0.999, 0.5, 2000), np.arange(2000) >= 1200
    frames = [reading_frame(confidence, 0.1, 100, eligible=which) for which in (None, eligible)]
    assert frames[0] != frames[1], "this pair would not tell the two apart"
    rows, frame = draw_to_decide(confidence, [f"text {i}" for i in range(2000)], 0.1, 100, eligible=eligible)
    assert frame == frames[1], "the frame is chosen among documents that may pass"
    assert rows.min() >= 1200
    assert rows.max() < 1200 + frame, "drawn from the surest of them"
