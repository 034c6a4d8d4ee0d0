"""Groups that belong to no class: found where there is one, not where there is none; numbers worked out by hand."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from made_texts import COMMON, WORDS

from isthmus.features.vectorizer import TextVectorizer
from isthmus.shift import novelty
from isthmus.shift.novelty import (
    NOVELTY,
    NovelGroup,
    Novelty,
    compare_pair,
    corrected_cosine,
    find_novel_groups,
    fit_centres,
    further_groups,
    is_novel,
    leave_out,
    nearest_of_classes,
    purity,
    simulate_on_source,
    typical_words,
    unit_rows,
)


def texts_of(shares, rng, marks=()):
    texts, labels = [], []
    for name, count in shares.items():
        for _ in range(count):
            words = [*rng.choice(WORDS[name], 5), *rng.choice(COMMON, 5), *rng.choice(marks or COMMON, 2)]
            texts.append(" ".join(words))
            labels.append(name)
    return texts, np.array(labels)


def search(source, target, seed=0):
    rng = np.random.default_rng(seed)
    source_texts, source_labels = texts_of(source, rng)
    target_texts, truth = texts_of(target, rng, marks=("motor", "engine", "tank"))
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True)
    rows = vectorizer.fit_transform([*source_texts, *target_texts])
    cut = len(source_texts)
    pair = compare_pair(rows[:cut], source_labels, rows[cut:])
    return find_novel_groups(pair, rows[cut:], vectorizer.get_feature_names_out()), truth, rows, cut


def test_a_class_the_source_lacks_is_found_named_and_counted():
    known = {"bikes": 80, "staff": 80, "price": 80}
    found, truth, rows, cut = search(known, {**known, "food": 60})
    assert len(found.groups) == 1
    group, inside = found.groups[0], found.membership >= 0
    assert np.mean(inside[truth == "food"]) >= 0.9
    assert np.mean(inside[truth != "food"]) <= 0.05
    assert {"soup", "bread", "chees", "salad", "coffe", "cake", "tast", "lunch", "dinner", "menu"} >= set(
        group.words[:5]
    )
    assert group.low <= 60 / 300 <= group.high
    assert np.mean((found.assign(rows[cut:]) >= 0) == inside) >= 0.95


def test_no_group_is_announced_where_the_classes_are_the_same_even_if_shares_turned():
    plain, *_ = search({"bikes": 80, "staff": 80, "price": 80}, {"bikes": 80, "staff": 80, "price": 80})
    turned, *_ = search({"bikes": 140, "staff": 60, "price": 20}, {"bikes": 20, "staff": 60, "price": 140})
    assert plain.groups == turned.groups == []
    np.testing.assert_array_equal(plain.membership, -1)
    assert plain.facts


def test_too_few_documents_or_classes_are_not_looked_at():
    found, *_ = search({"bikes": 20, "staff": 20}, {"bikes": 20, "staff": 20, "food": 10})
    assert found.groups == []
    assert found.facts == {}


def test_the_answer_does_not_hang_on_the_order_of_the_target():
    rng = np.random.default_rng(3)
    known = {"bikes": 70, "staff": 70, "price": 70}
    source_texts, labels = texts_of(known, rng)
    target_texts, _ = texts_of({**known, "food": 60}, rng)
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True)
    rows = vectorizer.fit_transform([*source_texts, *target_texts])
    source, target = rows[: len(labels)], rows[len(labels) :]
    order = rng.permutation(target.shape[0])
    names = vectorizer.get_feature_names_out()
    first = find_novel_groups(compare_pair(source, labels, target), target, names)
    second = find_novel_groups(compare_pair(source, labels, target[order]), target[order], names)
    assert [group.words for group in first.groups] == [group.words for group in second.groups]
    assert np.mean(first.membership[order] == second.membership) >= 0.98


def test_cosine_takes_the_chance_off_the_lengths():
    first = np.array([[1.0, 1.0], [1.0, -1.0]])  # mean (1, 0), variance 0 + 1, over n - 1 = 1: length² 1 - 1 = 0
    second = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert corrected_cosine(first, second, np.zeros(2), np.zeros(2)) == 0.0
    # mean (1, 0); variance of the second column 0.25, over 1: length² 1 - 0.25 = 0.75; cosine 1/√0.75 > 1, cut to 1
    third = np.array([[1.0, 0.5], [1.0, -0.5]])
    assert corrected_cosine(third, second, np.zeros(2), np.zeros(2)) == 1.0
    # direction (1, 1) against (1, 0), no chance in either: cos 45°
    fourth = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert corrected_cosine(fourth, second, np.zeros(2), np.zeros(2)) == pytest.approx(np.sqrt(0.5))


def test_settling_is_centred_on_class_means_not_on_documents():
    # two classes on a line; in the target one of them holds nine documents in ten, shifted by (0, 5)
    source = unit_rows(np.array([[1.0, 0.2], [1.0, 0.1], [-1.0, 0.2], [-1.0, 0.1]]))
    codes = np.array([0, 0, 1, 1])
    target = np.array([[1.0, 5.0]] * 27 + [[-1.0, 5.0]] * 3)
    fit = fit_centres(source, codes, target)
    assert fit.assigned.tolist() == [0] * 27 + [1] * 3
    assert fit.target_mean == pytest.approx([0.0, 5.0])


def test_each_test_of_a_case_can_refuse():
    usual = {
        "matched": 0.8,
        "similarity": 0.2,
        "gain": 0.06,
        "second_gain": 0.04,
        "agreement_drop": -0.2,
        "distinct": 0,
    }
    assert is_novel(usual)
    for name, value in (
        ("matched", 0.3),
        ("similarity", 0.3),
        ("second_gain", 0.05),
        ("agreement_drop", 0.0),
    ):
        assert not is_novel({**usual, name: value})
    assert not is_novel(usual, NOVELTY["further"])
    assert is_novel({**usual, "agreement_drop": -0.35}, NOVELTY["further"])
    disputed = {**usual, "similarity": 0.4, "second_gain": 0.05, "agreement_drop": -0.35}
    assert is_novel(disputed)
    for name, value in (("similarity", 0.45), ("second_gain", 0.055), ("agreement_drop", -0.3)):
        assert not is_novel({**disputed, name: value})
    distinct = {**usual, "similarity": 0.1, "second_gain": 0.048, "agreement_drop": 0.1, "distinct": 1.3}
    assert is_novel(distinct)
    for name, value in (("similarity", 0.2), ("second_gain", 0.055), ("distinct", 1.1)):
        assert not is_novel({**distinct, name: value})


def test_what_left_out_classes_show_where_they_share_nothing():
    # three classes on three axes: left out, each is found again whole and nearest to its own centre; its documents have
    # nothing in common with the rest (purity 0), those of the others five neighbours of their own (purity 1)
    rows = sp.csr_matrix(np.repeat(np.eye(3), 6, axis=0))
    names = np.repeat(["a", "b", "c"], 6)
    pair = compare_pair(rows, names, rows)
    pair = dataclasses.replace(pair, source=rows.toarray(), target=rows.toarray())
    shown = leave_out(pair)
    assert shown.distance > 1.0  # own centre 1, that of others below 0
    assert shown.mixed == -1.0
    assert leave_out(compare_pair(rows[:12], names[:12], rows[:12])) == novelty.LeftOut()  # of two none can be left out


def test_left_out_classes_show_how_mixed_neighbours_are():
    """Class c shares a word with a and another with b: left out, its documents' neighbours are of both classes."""
    rows, names = [], []
    for k in range(8):
        rows += [[1, 0, 0, 0.1 + k / 99, 0], [0, 1, 0, 0, 0.1 + k / 99], [0, 0, 1, 0.1, 0.1]]
        names += ["a", "b", "c"]
    rows = sp.csr_matrix(np.array(rows))
    pair = compare_pair(rows, names, rows)
    inside = np.array(names) == "c"
    mixed = purity(np.delete(pair.nearest, 2, axis=1))
    assert mixed[~inside].tolist() == [1.0] * 16
    # The nearest are those with most of the shared words: three of one class, two of the other.
    assert mixed[inside].max() == 0.6
    shown = leave_out(pair)
    # a and b left out: what remains of the other classes is pure or has only "c" to turn to; the median of the three
    gaps = []
    for code in range(3):
        left = purity(np.delete(pair.nearest, code, axis=1))
        own = np.array(names) == "abc"[code]
        gaps.append(left[own].mean() - left[~own].mean())
    assert shown.mixed == pytest.approx(np.median(gaps))
    assert min(gaps) == pytest.approx(-0.4)


def test_nearest_rows_are_kept_by_class_the_nearest_first():
    source = sp.csr_matrix(np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 2.0], [0.25, 1.0], [0.75, 0.0]]))
    target = sp.csr_matrix(np.array([[1.0, 0.0], [1.0, 1.0]]))
    found = nearest_of_classes(source, np.array([0, 0, 1, 1, 0]), target)
    assert found.shape == (2, 2, NOVELTY["neighbours"])
    assert found[0, 0].tolist() == [1.0, 0.75, 0.5, 0.0, 0.0]  # a class of three rows: the rest is zero
    assert found[0, 1].tolist() == [0.25, 0.0, 0.0, 0.0, 0.0]
    assert found[1, 1].tolist() == [2.0, 1.25, 0.0, 0.0, 0.0]


def test_nearest_rows_are_the_same_in_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    source, target = (sp.random(n, 30, 0.3, format="csr", random_state=rng) for n in (40, 23))
    codes = np.arange(40) % 3
    whole = nearest_of_classes(source, codes, target)
    monkeypatch.setattr(novelty, "_BLOCK", 7)
    np.testing.assert_array_equal(nearest_of_classes(source, codes, target), whole)


def test_purity_counts_the_most_frequent_class_among_the_nearest():
    nearest = np.zeros((5, 3, 5))
    nearest[0, 0], nearest[0, 1, :2] = [0.9, 0.8, 0.7, 0.1, 0.1], [0.6, 0.5]  # three of the first, two of the second
    nearest[1, 2] = 0.5  # all five of the third
    nearest[2, 0, :2], nearest[2, 1, :2], nearest[2, 2, 0] = 0.3, 0.2, 0.1  # two, two, one
    nearest[3, 1, 0] = 0.4  # one document has something in common, nobody else: row 4 has none
    assert purity(nearest).tolist() == [0.6, 1.0, 0.4, 0.2, 0.0]


def test_figures_of_a_group_are_measured_against_left_out_classes():
    known = {"bikes": 80, "staff": 80, "price": 80}
    _, truth, rows, cut = search(known, {**known, "food": 60})
    pair = compare_pair(rows[:cut], np.repeat(list(known), 80), rows[cut:])
    gain, fit = further_groups(pair.source, pair.codes, pair.target, [pair.target[truth == "food"].mean(axis=0)])[0]
    facts = novelty.group_facts(pair, novelty.LeftOut(distance=0.25, mixed=-0.5), gain, fit)
    inside = fit.assigned == 3
    assert facts["fit"] == pytest.approx(fit.similarity[inside, 3].mean())
    assert facts["known_fit"] == pytest.approx(fit.similarity[inside, :3].max(axis=1).mean())
    assert facts["distinct"] == pytest.approx((facts["fit"] - facts["known_fit"]) / 0.25)
    assert facts["mixed"] == pytest.approx(pair.purities[inside].mean() - pair.purities[~inside].mean() + 0.5)
    assert facts["agreement_drop"] == pytest.approx(pair.consensus[inside].mean() - pair.consensus[~inside].mean())
    assert facts["share"] == pytest.approx(inside.mean())
    assert novelty.group_facts(pair, novelty.LeftOut(), gain, fit)["distinct"] == 0.0  # no class could be left out


def test_a_group_with_purer_neighbours_than_left_out_classes_is_not_announced(monkeypatch):
    known = {"bikes": 80, "staff": 80, "price": 80}
    assert search(known, {**known, "food": 60})[0].groups
    monkeypatch.setitem(NOVELTY, "mixed", -2.0)  # nothing is as mixed as that
    found = search(known, {**known, "food": 60})[0]
    assert found.groups == []
    assert found.facts["second_gain"] >= 0  # the strongest group's figures are told all the same


def test_groups_that_are_nearly_the_same_are_asked_once_and_the_strongest_first():
    known = {"bikes": 80, "staff": 80, "price": 80}
    _, truth, rows, cut = search(known, {**known, "food": 60})
    pair = compare_pair(rows[:cut], np.repeat(list(known), 80), rows[cut:])
    starts = [pair.target[truth == name].mean(axis=0) for name in ("food", "bikes", "food")]
    found = further_groups(pair.source, pair.codes, pair.target, starts)
    gains = [gain for gain, _ in found]
    assert gains == sorted(gains, reverse=True)
    assert np.mean(found[0][1].assigned[truth == "food"] == 3) >= 0.9
    assert sum(np.mean(fit.assigned[truth == "food"] == 3) >= 0.9 for _, fit in found) == 1


def test_typical_words_are_those_used_inside():
    rows = sp.csr_matrix(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]))
    inside = np.array([True, True, False, False])
    assert typical_words(rows, inside, ["soup", "wheel", "the"]) == ["soup"]


@pytest.mark.parametrize("most", [600, 240])
def test_played_on_the_source_left_out_classes_are_found(monkeypatch, most):
    monkeypatch.setattr("isthmus.shift.novelty._SIMULATED", most)
    texts, labels = texts_of(dict.fromkeys(WORDS, 90), np.random.default_rng(5))
    vectorizer = TextVectorizer(weighting="tfidf", sublinear=True)
    rows = vectorizer.fit_transform(texts)
    simulated = simulate_on_source(rows, labels, vectorizer.get_feature_names_out())
    assert simulated["classes"] == 4
    assert simulated["power"] >= 0.75
    assert simulated["false_alarm"] == 0.0
    assert simulate_on_source(rows[:50], labels[:50], vectorizer.get_feature_names_out()) is None


@pytest.mark.slow
def test_diagnose_says_it():
    import isthmus

    rng = np.random.default_rng(0)
    known = {"bikes": 80, "staff": 80, "price": 80}
    source, labels = texts_of(known, rng)
    target, _ = texts_of({**known, "food": 60}, rng)
    found = isthmus.diagnose(source, labels.tolist(), target)
    assert found["new groups"]["severity"] == 2
    assert found.tables["new_groups"][0]["documents"] >= 50
    assert "Tried on the source itself, with 3 classes left out in turn" in found["new groups"]["finding"]
    assert found["new groups"]["values"]["power"] >= 0.6
    assert found["new groups"]["values"]["false_alarm"] == 0.0
    plain = isthmus.diagnose(source, labels.tolist(), texts_of(known, rng)[0])
    assert plain["new groups"]["severity"] == 0


def test_beside_two_classes_a_group_must_be_as_disputed_as_a_further_one(monkeypatch):
    """Two classes lie on one axis, and anything off it is unlike both."""
    asked = []
    monkeypatch.setattr(novelty, "is_novel", lambda facts, cases: bool(asked.append(cases)))
    search({"bikes": 80, "staff": 80}, {"bikes": 80, "staff": 80, "food": 60})
    assert asked
    assert all(cases is NOVELTY["further"] for cases in asked)
    assert len(asked) == 1  # only the strongest group: none can say how mixed its neighbours must be
    asked.clear()
    search({"bikes": 80, "staff": 80, "price": 80}, {"bikes": 80, "staff": 80, "price": 80, "food": 60})
    assert asked
    assert all(cases is NOVELTY["cases"] for cases in asked)


def test_documents_that_have_a_class_leave_their_group():
    first, second = (NovelGroup(name, [], 4, 0.4, 0.3, 0.5, "a", 0.1) for name in ("first", "second"))
    membership = np.array([0, 0, 0, 1, 1, 1, -1])
    learner = SimpleNamespace(predict=lambda rows: np.array([2, 3, 0]))
    found = Novelty([first, second], membership, learner=learner, n_classes=2)
    settled = np.array([True, True, False, True, False, False, False])
    left = found.without(settled)
    assert [group.name for group in left.groups] == ["second"]
    assert left.membership.tolist() == [-1, -1, -1, -1, 0, 0, -1]
    assert found.assign(np.zeros((3, 1))).tolist() == [0, 1, -1]
    assert left.assign(np.zeros((3, 1))).tolist() == [-1, 0, -1], "numbers of the learner count, not of those left"


def test_a_group_of_which_half_has_a_class_stays():
    """It goes with most of its documents; a labelling without a learner, or without groups, puts texts into none."""
    group = NovelGroup("first", [], 4, 0.4, 0.3, 0.5, "a", 0.1)
    found = Novelty([group], np.array([0, 0, 0, 0, -1]))
    left = found.without(np.array([True, True, False, False, False]))
    assert [one.name for one in left.groups] == ["first"]
    assert left.membership.tolist() == [-1, -1, 0, 0, -1]
    assert found.without(np.array([True, True, True, False, False])).groups == []
    rows = np.zeros((3, 1))
    assert found.assign(rows).tolist() == [-1] * 3, "nothing was learned about it"
    learner = SimpleNamespace(predict=lambda rows: np.array([2, 2, 0]))
    assert Novelty([], np.zeros(0), learner=learner, n_classes=2).assign(rows).tolist() == [-1] * 3


def test_of_one_class_and_of_few_documents_no_group_is_looked_for():
    for n_classes, n_source, n_target in ((1, 60, 60), (2, 59, 60), (2, 60, 59)):
        pair = SimpleNamespace(
            classes=np.array(["a", "b"])[:n_classes], source=np.zeros((n_source, 2)), target=np.zeros((n_target, 2))
        )
        found = find_novel_groups(pair, None, [])
        assert (found.groups, found.membership.tolist(), found.facts) == ([], [-1] * n_target, {})


@pytest.mark.parametrize(("given", "seed"), [(None, 0), (0, 0), (5, 5)])
def test_the_seed_begins_the_search_for_groups(monkeypatch, given, seed):
    seeds = []
    monkeypatch.setattr(novelty, "start_points", lambda target, n_classes, seed: seeds.append(seed) or [])
    monkeypatch.setattr(novelty, "leave_out", lambda pair: novelty.LeftOut())
    rows = np.random.default_rng(0).normal(size=(60, 3))
    codes = np.arange(60) % 2
    pair = SimpleNamespace(classes=np.array(["a", "b"]), source=rows, target=rows, codes=codes)
    assert find_novel_groups(pair, None, [], random_state=given).groups == []
    assert seeds == [seed]


def test_a_second_group_must_pass_the_stricter_test(monkeypatch):
    asked = []

    def first_alone(facts, cases):
        asked.append(cases)
        return len(asked) <= 2  # once before the next group is looked at, and once with it

    monkeypatch.setattr(novelty, "is_novel", first_alone)
    monkeypatch.setattr(novelty, "mixed", lambda *given: -np.inf)
    known = {"bikes": 25, "staff": 25, "price": 25}
    found = search(known, {**known, "food": 20})[0]
    assert len(found.groups) == 1
    assert asked[:2] == [NOVELTY["cases"]] * 2
    assert asked[2:]
    assert all(cases is NOVELTY["further"] for cases in asked[2:])


def test_where_the_rest_explains_nothing_the_next_gain_is_none(monkeypatch):
    fit = novelty.Fit(np.array([0, 1, 1]), np.zeros((3, 2)), np.zeros((2, 2)), np.zeros(2))
    pair = SimpleNamespace(source=None, codes=None, target=np.eye(3)[:, :2])
    asked = []

    def further(source, codes, target, starts, fixed=()):
        asked.append(np.array(fixed).tolist())
        return [(0.3, fit), (0.1, fit)] if len(asked) > 1 else []

    monkeypatch.setattr(novelty, "further_groups", further)
    assert novelty.second_gain(pair, [], fit) == 0.0
    assert novelty.second_gain(pair, [], fit, [np.ones(2)]) == 0.3, "the largest"
    assert asked == [[[0.0, 0.5]], [[1.0, 1.0], [0.0, 0.5]]], "beside the group itself and those before it"
    monkeypatch.undo()
    monkeypatch.setattr(novelty, "fit_centres", lambda *given: None)
    assert further_groups(None, None, pair.target, [np.ones(2)]) == [], "a fixed centre that lost its documents"


def test_further_centres_begin_at_clusters_of_five_documents(monkeypatch):
    monkeypatch.setattr(novelty, "quiet_kmeans", lambda rows, n, **options: np.repeat([0, 1], [5, 4]))
    target = np.arange(18.0).reshape(9, 2)
    starts = novelty.start_points(target, 2, 0)
    assert [start.tolist() for start in starts] == [[4.0, 5.0]], "the mean of the first five; of four none begins"


@pytest.mark.parametrize(("n", "found"), [(5, True), (4, False)])
def test_classes_of_five_target_documents_show_what_is_left_out(n, found):
    rows, names = np.repeat(np.eye(3), 6, axis=0), np.repeat(["a", "b", "c"], 6)
    target = np.repeat(np.eye(3), n, axis=0)
    pair = compare_pair(sp.csr_matrix(rows), names, sp.csr_matrix(target))
    shown = leave_out(dataclasses.replace(pair, source=rows, target=target))
    assert (shown.distance > 1.0) is found
    assert (shown != novelty.LeftOut()) is found


@pytest.mark.parametrize("n", [2, 3])
def test_a_group_of_two_documents_needs_no_confirmation(n):
    """Two cannot be divided among three parts; three are confirmed by what was learned from the other parts."""
    places = np.repeat([0, 1, 2], [6, 6, n])
    rows = sp.csr_matrix(np.eye(3)[places])
    fit = novelty.Fit(places, np.zeros((len(places), 3)), np.zeros((3, 3)), np.zeros(3))
    pair = SimpleNamespace(classes=np.array(["a", "b"]))
    found = novelty._announce(pair, rows, ["x", "y", "soup"], fit, [{"nearest": 1, "similarity": -0.2}], {"first": 1.0})
    (group,) = found.groups
    assert (group.name, group.size, group.share) == ("soup", n, pytest.approx(n / (12 + n)))
    assert (group.nearest_class, group.similarity) == ("b", 0.0)
    assert found.membership.tolist() == [-1] * 12 + [0] * n
    assert found.facts == {"first": 1.0}
    assert found.assign(sp.csr_matrix(np.eye(3))).tolist() == [-1, -1, 0]


def test_nothing_inside_has_no_typical_words():
    assert typical_words(sp.csr_matrix(np.eye(3)), np.zeros(3, dtype=bool), ["a", "b", "c"]) == []


def test_played_on_the_source_the_four_largest_classes_are_left_out_in_turn(monkeypatch):
    """And then none; the seed goes along."""
    sizes = {"a": 30, "b": 50, "c": 40, "d": 60, "e": 20, "f": 70}
    labels = np.repeat(list(sizes), list(sizes.values()))
    rows = sp.csr_matrix(np.random.default_rng(0).random((len(labels), 4)))
    asked = []

    def compare(source, names, target, *, vectors=None, random_state=0):
        asked.append((sorted(set(sizes) - set(names.tolist())), random_state, source.shape[0] == len(names)))
        return names

    def find(names, target_rows, words, *, random_state=0):
        asked[-1] += (random_state, words)
        return SimpleNamespace(membership=np.full(target_rows.shape[0], 0 if "f" not in names else -1))

    monkeypatch.setattr(novelty, "compare_pair", compare)
    monkeypatch.setattr(novelty, "find_novel_groups", find)
    found = simulate_on_source(rows, labels, ["w"], random_state=7)
    assert asked == [(left, 7, True, 7, ["w"]) for left in (["f"], ["d"], ["b"], ["c"], [])]
    assert found == {"power": 0.25, "false_alarm": 0.0, "classes": 4.0}


@pytest.mark.parametrize(("smallest", "played"), [(6, True), (5, False)])
def test_classes_of_six_documents_can_be_played_with(monkeypatch, smallest, played):
    labels = np.repeat(["a", "b", "c"], [120, 120, smallest])
    rows = sp.csr_matrix(np.random.default_rng(0).random((len(labels), 4)))
    monkeypatch.setattr(novelty, "compare_pair", lambda *given, **options: None)
    none = np.full(len(labels) // 2, -1)
    monkeypatch.setattr(novelty, "find_novel_groups", lambda *given, **options: SimpleNamespace(membership=none))
    assert (simulate_on_source(rows, labels, []) is not None) is played


def test_a_class_that_stands_on_one_side_alone_is_not_found(monkeypatch):
    """All of a is in the half that is looked at, all of b and c in the other, where without b one class is left."""
    labels = np.repeat(["a", "b", "c"], [126, 120, 6])
    order = np.empty(252, dtype=int)
    order[::2], order[1::2] = np.arange(126, 252), np.arange(126)
    monkeypatch.setattr(novelty, "content_order", lambda rows: order)
    asked = []

    def compare(source, names, target, **options):
        asked.append(sorted(set(names.tolist())))
        return None

    monkeypatch.setattr(novelty, "compare_pair", compare)
    everywhere = SimpleNamespace(membership=np.zeros(126, dtype=int))
    monkeypatch.setattr(novelty, "find_novel_groups", lambda *given, **options: everywhere)
    found = simulate_on_source(sp.csr_matrix(np.ones((252, 2))), labels, [])
    assert asked == [["b", "c"], ["b", "c"]], "with a left out, and with none"
    assert found == {"power": pytest.approx(1 / 3), "false_alarm": 1.0, "classes": 3.0}


def test_a_left_out_class_that_keeps_too_few_documents_shows_nothing(monkeypatch):
    """Of the twelve target documents all but four, or four alone, settle at the centre that stands for it."""
    pair = SimpleNamespace(
        source=np.eye(3), codes=np.arange(3), target=np.repeat(np.eye(3), 4, axis=0), nearest=np.zeros((12, 3, 5))
    )
    for n_inside, shown in ((4, False), (8, False), (5, True), (7, True)):
        known = SimpleNamespace(assigned=np.repeat([0, 1, 2], [5, 5, 2]))
        left = SimpleNamespace(
            assigned=np.where(np.arange(12) < n_inside, 2, 0), similarity=np.tile([0.1, 0.2, 0.9], (12, 1))
        )
        answers = iter([known, left, left])
        monkeypatch.setattr(novelty, "fit_centres", lambda *given, answers=answers: next(answers))
        found = leave_out(pair)
        assert found.distance == (pytest.approx(0.7) if shown else 0.0), f"{n_inside} of twelve documents"
    fits = iter([known, None, None])
    monkeypatch.setattr(novelty, "fit_centres", lambda *given: next(fits))
    assert leave_out(pair) == novelty.LeftOut(), "a centre that lost its documents"
