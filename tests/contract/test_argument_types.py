"""A wrong type of any argument of a public function ends in one sentence of ours, never in an internal error."""

import inspect

import numpy as np
import pytest

import isthmus
from isthmus._arguments import checks_arguments
from isthmus.exceptions import IsthmusError, UsageError

SOURCE = ["kind staff", "great bike", "polite staff", "fast bike", "rude clerk staff", "loud bike"] * 6
LABELS = ["service", "product"] * 18
TARGET = ["slow staff", "new bike", "a friendly clerk", "the bike is fast"] * 10
ODD = (True, 3, -2.5, float("nan"), "text", b"bytes", [1], [None], (), {}, {"a": 1}, {"x"}, np.zeros(2), object(), len)


@pytest.fixture(scope="module")
def results():
    return {
        "label": isthmus.label(SOURCE, LABELS, TARGET, method="nbc"),
        "cluster": isthmus.cluster(SOURCE, LABELS, TARGET, n_clusters=2),
        "diagnose": isthmus.diagnose(SOURCE, LABELS, TARGET),
    }


def public_methods(kind):
    return [
        name
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and len(inspect.signature(member).parameters) > 1
    ]


FUNCTIONS = {
    "label": (
        isthmus.label,
        {"source_texts": SOURCE, "source_labels": LABELS, "target_texts": TARGET, "method": "nbc"},
    ),
    "cluster": (isthmus.cluster, {"source_texts": SOURCE, "source_groups": LABELS, "target_texts": TARGET}),
    "diagnose": (isthmus.diagnose, {"source_texts": SOURCE, "source_labels": LABELS, "target_texts": TARGET}),
    "load": (isthmus.load, {"path": "no-such-file.isthmus"}),
}


def raw_errors(call, base, names):
    """Call a function with one wrong argument at a time and return the errors that are not ours."""
    found = []
    for name in names:
        for value in ODD:
            try:
                call(**{**base, name: value})
            except (IsthmusError, ImportError):  # an import error: an optional package is missing
                pass
            except Exception as error:
                found.append(f"{call.__name__}({name}={value!r}): {type(error).__name__}: {error}")
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_functions_refuse_odd_arguments_in_their_own_words(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, base = FUNCTIONS[function]
    assert raw_errors(call, base, inspect.signature(call).parameters) == []


@pytest.mark.parametrize("kind", ["label", "cluster", "diagnose"])
@pytest.mark.filterwarnings("ignore")
def test_methods_of_results_refuse_odd_arguments_in_their_own_words(kind, results, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = results[kind]
    found = []
    for method in public_methods(type(result)):
        call = getattr(result, method)
        parameters = inspect.signature(call).parameters
        required = [name for name, one in parameters.items() if one.default is one.empty]
        found += raw_errors(call, dict.fromkeys(required, "x"), parameters)
    assert found == []


def test_the_sentence_names_the_argument_the_value_and_what_is_allowed():
    @checks_arguments
    def measure(share: float, names: "list[str] | None" = None, *, deep: bool = False) -> float:
        return share

    assert measure(1) == 1
    assert measure(np.float32(0.5), ["a"], deep=np.bool_(True)) == 0.5
    for wrong, named in (({"share": "x"}, "share"), ({"share": True}, "share"), ({"share": 1.0, "deep": 1}, "deep")):
        with pytest.raises(UsageError, match=named) as refused:
            measure(**wrong)
        assert refused.value.code == "bad-parameter"
