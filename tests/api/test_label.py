"""Rules of ``isthmus.label`` on six sentences: reasons, review, names of classes, words through pipelines."""

import numpy as np
import pytest

import isthmus
from isthmus import SelfTrainingTransferClassifier, make_transfer_pipeline
from isthmus.choose import review_mask
from isthmus.features import TextVectorizer
from isthmus.methods import make_method

LABELS = ["staff", "product"] * 3
TARGET = ["rude staff", "slow bike", "zzz qqq"]
SOURCE = ["kind staff", "great bike", "polite staff", "fast bike", "kind manager", "great engine"]


@pytest.mark.parametrize("method", ["logistic", "svm", "nbc", "projection", "strings", "self-training"])
def test_reasons_of_two_classes_point_at_the_right_class(method):
    """Two-class linear methods with −w/2 and +w/2 swapped."""
    result = isthmus.label(SOURCE * 4, LABELS * 4, TARGET * 4, method=method, min_df=1)
    for i, (own, other) in ((0, ("staff", "product")), (1, ("product", "staff"))):
        told = "staff" if own == "staff" else "bike"
        found = {row["class"]: row["contribution"] for row in result.reasons(i, top=None) if row["term"] == told}
        assert result.labels[i] == own
        assert found[own] > 0 > found.get(other, -1.0)  # some methods give a term to one class only


def test_texts_without_a_known_term_need_review_however_sure_the_method_is():
    """``label`` without "texts without a known term need review"."""
    result = isthmus.label(SOURCE, LABELS, [*TARGET, ""], method="nbc", min_df=2, error_budget=1.0)
    assert review_mask(result.confidence, 1.0).tolist() == [False] * 4
    assert result.needs_review.tolist() == [False, False, True, True]
    later = result.label_new(["staff again", "zzz"])
    assert later.needs_review.tolist() == [False, True]


@pytest.mark.parametrize("method", ["nbc", "projection", "strings"])
def test_names_of_classes_do_not_matter(method):
    """Renaming classes, also so that their order turns round, renames the labels and nothing else."""
    plain = isthmus.label(SOURCE * 3, LABELS * 3, TARGET, method=method, min_df=1)
    new = {"staff": "a", "product": "z"}  # alphabetical order was product, staff
    renamed = isthmus.label(SOURCE * 3, [new[label] for label in LABELS] * 3, TARGET, method=method, min_df=1)
    assert [new[label] for label in plain.labels[:2]] == renamed.labels[:2].tolist()
    assert renamed.probabilities[:, ::-1] == pytest.approx(plain.probabilities, abs=1e-9)


def test_naive_bayes_of_documents_written_twice_is_the_same():
    once = make_method("nbc", min_df=1).fit([*SOURCE, *TARGET], [*LABELS, None, None, None])
    twice = make_method("nbc", min_df=1).fit([*SOURCE * 2, *TARGET], [*LABELS * 2, None, None, None])
    np.testing.assert_array_equal(once.predict(TARGET[:2]), twice.predict(TARGET[:2]))


def test_pipelines_hand_words_through():
    model = make_transfer_pipeline(TextVectorizer(min_df=1), SelfTrainingTransferClassifier(max_iter=2))
    model.fit([*SOURCE, *TARGET], [*LABELS, None, None, None])
    assert model.transduction_[:6].tolist() == LABELS
