"""Methods that make features of the texts of a block, on a handful of texts."""

import numpy as np
import pytest

from isthmus import TransductiveCentroidClassifier
from isthmus.classify import vectors
from isthmus.classify.strings import landmarks
from isthmus.features.blocks import ONE, Block, Passes, as_steps

SOURCE = ["kind staff", "rude staff here", "friendly staff", "fast bike", "slow bike today", "strong bike"]
TARGET = ["kind staff again", "polite clerk", "the staff", "fast car", "slow engine", "bike and car", "no words"]


class TextPasses(Passes):
    """Texts in memory as one block of each side."""

    def __init__(self, codes, classes):
        self.classes = classes
        self.languages = ("en",)
        self.blocks = {
            "source": Block("source", None, SOURCE, codes),
            "target": Block("target", None, TARGET),
        }


def test_strings_learn_from_the_surer_half_of_the_target(monkeypatch):
    """Half of the rows divided by their number instead of multiplied: the surest document alone."""
    learned = []
    real = landmarks.moments

    def note(block, *arguments):
        part = real(block, *arguments)
        learned.append((block.side, int(part[3].sum())))
        return part

    monkeypatch.setattr(landmarks, "moments", note)
    codes = np.repeat([1, 0], 3).astype(np.int32)
    model = landmarks.LandmarkKernelClassifier().fit_passes(TextPasses(codes, np.array(["bike", "staff"])))
    # four of seven are the fewest that are at least half
    assert learned == [("source", 6), ("target", 0), ("source", 6), ("target", 4)]
    scores, blank = model.block_scores(Block("target", None, ["kind staff", " "]))
    assert scores.shape == (2, 2)
    assert scores[0].argmax() == 1
    assert blank.tolist() == [False, True]


def test_a_ridge_that_a_sample_sets_grows_with_the_source(monkeypatch):
    """Two of the six source documents are in the sample: three times the ridge, in both rounds."""
    codes = np.repeat([1, 0], 3).astype(np.int32)
    ridges = []
    finish = landmarks.LandmarkKernelClassifier.finish

    class Sampled(TextPasses):
        sample = Block("source", None, SOURCE[2:4], codes[2:4])

    def note(model, sums, alpha):
        ridges.append(alpha)
        return finish(model, sums, alpha)

    monkeypatch.setattr(landmarks, "choose_ridge", lambda *given: 0.25)
    monkeypatch.setattr(landmarks.LandmarkKernelClassifier, "finish", note)
    landmarks.LandmarkKernelClassifier().fit_passes(Sampled(codes, np.array(["bike", "staff"])))
    assert ridges == [0.75, 0.75]


def test_vectors_are_centred_by_domain_and_have_length_one():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(4, 3)), np.zeros((1, 3))])
    rows[:4] /= np.linalg.norm(rows[:4], axis=1, keepdims=True)
    mean = as_steps(rows)[0] / ONE  # the first row is its domain's mean: nothing is left of it
    model = TransductiveCentroidClassifier()
    model.block_means_ = {"target": mean, "source": np.zeros(3)}
    centred = model.centred_steps(as_steps(rows), "target") / ONE
    expected = rows - mean
    expected[1:4] /= np.linalg.norm(expected[1:4], axis=1, keepdims=True)
    expected[[0, 4]] = 0.0  # neither has a text without a vector
    assert centred == pytest.approx(expected, abs=2 / ONE)
    assert model.centred_steps(as_steps(rows), "source") / ONE == pytest.approx(rows, abs=2 / ONE)


def test_target_documents_are_scored_about_the_mean_of_the_target(monkeypatch):
    rows = np.eye(2)
    monkeypatch.setattr(vectors, "static_steps", lambda texts: as_steps(rows))
    model = TransductiveCentroidClassifier()
    model.block_means_ = {"source": rows[0], "target": np.zeros(2)}
    model.centroids_, model.inverse_temperature_ = np.eye(2), 3.0
    scores, _ = model.block_scores(Block("target", None, ["kind staff", "fast bike"]))
    assert scores == pytest.approx(3 * rows, abs=1e-3)


def test_landmarks_are_as_many_of_both_sides_and_the_first(monkeypatch):
    monkeypatch.setattr(landmarks, "LANDMARKS", 4)
    codes = np.repeat([1, 0], 3).astype(np.int32)
    model = landmarks.LandmarkKernelClassifier().fit_passes(TextPasses(codes, np.array(["bike", "staff"])))
    assert model.landmarks_ == [*SOURCE[:2], *TARGET[:2]]
    assert model.block_scores(Block("target", None, TARGET))[0].shape == (7, 2)


@pytest.mark.parametrize(("language", "lengths"), [("en", (5, 8)), ("zh", (1, 4))])
def test_lengths_of_n_grams_go_by_the_script_in_blocks_too(language, lengths):
    passes = TextPasses(np.repeat([1, 0], 3).astype(np.int32), np.array(["bike", "staff"]))
    passes.languages = (language,)
    assert landmarks.LandmarkKernelClassifier().fit_passes(passes).kernel_.ngram_range == lengths


def test_the_temperature_rests_on_fifty_documents_and_no_more_than_a_limit(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 90)
    steps = as_steps(np.eye(2)[codes] + rng.normal(scale=0.7, size=(90, 2)))
    model = landmarks.LandmarkKernelClassifier()
    model.centre_, model.length_ = np.full(2, 0.5), 1.0

    def temperature(n):
        return model._temperature(steps[:n], codes[:n], 0.1)

    assert temperature(49) == 5.0, "of too few documents nothing is told"
    assert temperature(50) != 5.0
    some, whole = temperature(60), temperature(90)
    assert some != whole
    monkeypatch.setattr(landmarks, "CALIBRATION_ROWS", 60)
    assert temperature(90) == some, "the first sixty"
