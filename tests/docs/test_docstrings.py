"""Every public name says what it is and shows it; every example in a docstring runs."""

import doctest
import importlib
import inspect
import pkgutil
import re

import pytest
from extras import need_rooms

import isthmus

# Modules that run something when imported.
_NOT_IMPORTED = {"isthmus.__main__", "isthmus.cli.__main__"}


def modules() -> list[str]:
    found = ["isthmus"]
    for module in pkgutil.walk_packages(isthmus.__path__, "isthmus."):
        if module.name not in _NOT_IMPORTED:
            found.append(module.name)
    return found


def find(public):
    """What a public name stands for; ``isthmus.cluster`` is also the name of a room."""
    return getattr(importlib.import_module(isthmus._PUBLIC[public]), public)


@pytest.mark.parametrize("public", sorted(isthmus._PUBLIC))
def test_public_names_have_a_docstring_with_an_example(public):
    text = inspect.getdoc(find(public)) or ""
    assert text, f"isthmus.{public} has no docstring"
    example = re.search(r"^Examples?\n-+\n", text, re.M)
    assert example, f"the docstring of isthmus.{public} has no section 'Examples'"
    assert ">>> " in text[example.end() :], f"the example of isthmus.{public} shows no code (>>> ...)"


@pytest.mark.parametrize("public", sorted(isthmus._PUBLIC))
def test_public_names_describe_every_parameter(public):
    value = find(public)
    text = inspect.getdoc(value) or ""
    for name, parameter in inspect.signature(value).parameters.items():
        shown = {parameter.VAR_POSITIONAL: rf"\*{name}", parameter.VAR_KEYWORD: rf"\*\*{name}"}.get(
            parameter.kind, name
        )
        described = re.search(rf"^(?:[\w*]+, )*{shown}(?:, [\w*]+)*(?: :|$)", text, re.M)
        assert described, f"the docstring of isthmus.{public} does not describe its parameter {name!r}"


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions, too."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object) if callable(object) else object)


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_run(name, tmp_path, monkeypatch):
    need_rooms(name)
    monkeypatch.chdir(tmp_path)  # an example may write files
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    report: list[str] = []
    for test in Finder(exclude_empty=True).find(module, name):
        runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_the_runner_sees_the_examples():
    # A finder that finds nothing would let every module pass.
    found = Finder().find(importlib.import_module("isthmus.evaluate.labels"))
    assert sum(len(test.examples) for test in found) >= 4
    wrapped = Finder().find(importlib.import_module("isthmus.api.label"))
    assert any(test.name == "isthmus.api.label.label" and test.examples for test in wrapped)


@pytest.mark.parametrize("public", sorted(isthmus._PUBLIC))
def test_public_names_say_what_to_see_also(public):
    text = inspect.getdoc(find(public)) or ""
    section = re.search(r"^See Also\n-+\n((?:.+\n)+)", text, re.M)
    assert section, f"the docstring of isthmus.{public} has no section 'See Also'"
    for line in section.group(1).splitlines():
        name, colon, sentence = line.partition(" : ")
        assert colon, f"isthmus.{public}, See Also: {line!r} does not say why"
        assert sentence
        parts, value = name.split("."), importlib.import_module("isthmus")
        for place, part in enumerate(parts[1:], 2):
            value = getattr(value, part, None) or importlib.import_module(".".join(parts[:place]))
