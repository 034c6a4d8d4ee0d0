"""The study of forecasts: what was forecast stands next to what came of it."""

import isthmus
from isthmus_bench.shifted import make_shifted_texts
from isthmus_bench.suites import trust_forecast


def test_a_row_for_each_number_of_answers(monkeypatch):
    monkeypatch.setattr(trust_forecast, "ANSWERS", (20, 80))
    texts = make_shifted_texts(100, 80, shared=0.4, random_state=1)
    result = isthmus.label(texts.source_texts, texts.source_labels, texts.target_texts, method="nbc")
    few, every = trust_forecast.compare("made", result, list(texts.target_labels))
    assert (few["answers"], few["now"]) == (20, int(result.needs_review.sum()))
    assert few["off"] == abs(few["forecast"] - few["then"]) / 80
    # all 80 documents are answered: nothing is left, and everything is right, as forecast
    assert (every["forecast"], every["then"], every["right, forecast"], every["right"]) == (0, 0, 1.0, 1.0)
