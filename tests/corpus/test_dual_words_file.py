"""Files of labelled words."""

import pytest

from isthmus.corpus.words import read_vectors, read_words
from isthmus.exceptions import DataError


def read(tmp_path, text, name="words.csv"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return read_words(file)


def test_words_labels_and_weights(tmp_path):
    text = "Word,Label,Weight\nsuperb,positive,\nnot good,negative,0.5\ndull,positive,-1\n\nsuperb,positive,1\n"
    assert read(tmp_path, text) == {
        "superb": {"positive": 1.0},
        "not good": {"negative": 0.5},
        "dull": {"positive": -1.0},
    }


def test_the_weight_column_may_be_left_out_and_other_formats_serve(tmp_path):
    assert read(tmp_path, "word\tlabel\ngut\tja\n", "words.tsv") == {"gut": {"ja": 1.0}}
    assert read(tmp_path, '{"word": "gut", "label": "ja"}\n', "words.jsonl") == {"gut": {"ja": 1.0}}


def test_rows_that_say_nothing_are_passed_over(tmp_path):
    assert read(tmp_path, "word,label,weight\ngut,ja,1\n,,\n , ,\n,,2\n") == {"gut": {"ja": 1.0}}


def test_soft_labels_of_one_word(tmp_path):
    text = "word,label,weight\nhot,food,0.6\nhot,weather,0.4\n"
    assert read(tmp_path, text) == {"hot": {"food": 0.6, "weather": 0.4}}


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("word,label\ngood,a\ngood,b\n", "bad-word-labels", "Rows 1 and 2"),
        ("word,label,weight\ngood,a,1\ngood,a,-1\n", "bad-word-labels", "contradict"),
        ("word,label,weight\ngood,a,much\n", "bad-word-labels", "'much'"),
        ("word,label,weight\ngood,a,0\n", "bad-word-labels", "other than 0"),
        ("word,label\ngood,\n", "bad-word-labels", "no label"),
        ("word,label\n,a\n", "bad-word-labels", "Row 1 of words.csv has no word"),
        ("word,label,weight\ngood,a,inf\n", "bad-word-labels", "other than 0"),
        ("word,label\n , \n", "empty-file", "holds no labelled word"),
        ("term,meaning\ngood,a\n", "unknown-column", "'label'"),
        ("", "empty-file", "empty"),
    ],
)
def test_refusals_name_the_place(tmp_path, text, code, says):
    with pytest.raises(DataError, match=says) as caught:
        read(tmp_path, text)
    assert caught.value.code == code


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError) as caught:
        read_words(tmp_path / "nothing.csv")
    assert caught.value.code == "missing-file"


def test_words_that_nobody_has_labelled_are_passed_over_where_that_is_asked(tmp_path):
    file = tmp_path / "asked.csv"
    file.write_text("word,label\nrude,staff\ndull,\n", encoding="utf-8")
    assert read_words(file, blanks=True) == {"rude": {"staff": 1.0}}
    file.write_text("word,label\nrude,\ndull,\n", encoding="utf-8")
    with pytest.raises(DataError, match="holds no labelled word"):
        read_words(file, blanks=True)


@pytest.mark.parametrize("cells", [["[1, -2]", "[3, 4]"], ["1 -2", "3 4"], [" 1, -2 ", "3,4"], [(1, -2), [3, 4.0]]])
def test_vectors_are_read_in_every_form(cells):
    assert read_vectors(cells, "v", "a.csv").tolist() == [[1, -2], [3, 4]]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["", "[1]"], "Row 1 of the column 'v' of a.csv holds no vector; write"),
        (["[1, 2]", "kind"], "Row 2 of the column 'v' of a.csv holds no vector of 2 numbers"),
        (["[1, 2]", "[]"], "Row 2 .* holds no vector of 2 numbers"),
        (["[1, 2]", None], "Row 2 .* holds no vector of 2 numbers"),
        (["[1, 2]", "[1, 2, 3]"], "Row 2 .* holds no vector of 2 numbers"),
    ],
)
def test_a_cell_that_is_no_vector_like_those_before_it_is_named(cells, says):
    with pytest.raises(DataError, match=says) as caught:
        read_vectors(cells, "v", "a.csv")
    assert caught.value.code == "length-mismatch"
