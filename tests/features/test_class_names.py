"""Names of classes as people write them."""

import pytest

from isthmus.exceptions import UsageError
from isthmus.features.class_names import class_texts, read_classes, read_name, split_description, without_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sport", "sport"),
        ("SPORT", "sport"),
        ("Sci/Tech", "science technology"),
        ("affected_individuals", "affected individuals"),
        ("affectedIndividuals", "affected individuals"),
        ("rec.sport.baseball", "recreation sport baseball"),
        ("misc.forsale", "for sale"),
        ("Sports & Outdoors", "sports outdoors"),
        ("Wirtschaft und Politik", "wirtschaft politik"),
        ("kids and teens", "kids teens"),
        ("Économie", "économie"),
        ("money-fx", "money foreign exchange"),
        ("体育", "体育"),
        ("水", "水"),
        ("covid19", "covid"),
        ("sport sport", "sport"),
        ("positive", "positive"),
        ("NASA", "nasa"),
    ],
)
def test_names_are_read_as_words(name, words):
    assert " ".join(read_name(name)) == words


@pytest.mark.parametrize(
    "name", ["C13", "M141", "42", "class_3", "topic-12", "other", "misc", "x", "", "--", 7, 3.5, None]
)
def test_names_that_mean_nothing_have_no_words(name):
    assert read_name(name) == ()


def test_a_line_is_cut_at_its_first_colon():
    assert split_description("a: b: c") == ("a", "b: c")
    with pytest.raises(UsageError, match="no name"):
        split_description(": words")


def test_every_form_of_classes_is_read():
    by_list = read_classes(["sport", "business: shares, market"])
    by_mapping = read_classes({"sport": None, "business": "shares, market"})
    assert by_list == by_mapping
    assert by_list["business"].text == "business shares, market"
    assert read_classes({"a": ["one", "two"]})["a"].description == "one two"
    assert read_classes(None) == {}


def test_known_classes_are_read_by_their_names_and_never_cut():
    found = read_classes(["new", "Movies: drama"], known=["Movies: drama", "C13"])
    assert list(found) == ["Movies: drama", "C13", "new"]
    assert found["Movies: drama"].words == ("movies", "drama")
    assert without_words(found) == ["C13"]


@pytest.mark.parametrize("classes", ["sport", 3, {"sport": 4}, {"sport": [1]}, ["a: x", "a: y"]])
def test_other_forms_are_refused(classes):
    with pytest.raises(UsageError) as caught:
        read_classes(classes)
    assert caught.value.code == "bad-parameter"


def test_a_class_given_twice_with_the_same_words_is_one_class():
    assert class_texts(["law: court", "law: court", "sport", "sport", 3, 3]) == {"law": "court", "sport": "", 3: ""}
    with pytest.raises(UsageError, match="'law' is given twice"):
        class_texts(["law: court", "law: judge"])
    with pytest.raises(UsageError, match="'law' is given twice"):
        class_texts(["law: court", "law"])
