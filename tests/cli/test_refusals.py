"""What a command refuses before it reads anything: every such sentence is tried, in a folder without any file."""

import ast
import re
from pathlib import Path

import pytest

from isthmus.cli.app import run_command
from isthmus.cli.blocks import read_tls
from isthmus.exceptions import UsageError

ROOT = Path(__file__).parents[2]
BOTH = "s.csv t.csv"
REFUSED = {
    "ask m.isthmus --words --suggest": "--words always comes with suggestions",
    "ask m.isthmus -o - --json": "--json prints on stdout; name a file for the questions",
    "check m.isthmus --sample 5 --json": "--json prints on stdout; name a file for the table",
    "check m.isthmus a.csv --json -o -": "--json prints on stdout; name a file for the table",
    "check m.isthmus --sample 5 --report r.html": "--report and --save take the outcome of a check",
    "check m.isthmus --sample 5 --save n.isthmus": "--report and --save take the outcome of a check",
    "check - -": "Both RESULT and CHECKED are '-'",
    "cluster s.csv": "1 file given; name SOURCE, then TARGET",
    "cluster - -": "Two files are '-'; only one can be standard input",
    f"cluster {BOTH} -o - --json": "--json prints on stdout; name a file for the clusters",
    "cluster m.isthmus --within a -o - --json": "--json prints on stdout; name a file for the documents",
    "convert a.csv b.csv --to nothing": "--to 'nothing' is unknown; use one of",
    "convert a.csv b.csv --to prodigy": "prodigy reads files that end in .jsonl; 'b.csv' does not",
    "diagnose - -": "Both SOURCE and TARGET are '-'",
    f"diagnose {BOTH} --review-source -": "--review-source '-': stdout has the findings",
    "explain m.isthmus": "Name a document with --document ID, or give a text",
    "explain m.isthmus --text kind -o o.csv --json": "--json prints on stdout; leave out -o",
    "label s.csv ": "A file name is empty; name SOURCE and TARGET",
    "label - -": "Two files are '-'; only one can be standard input",
    "label s.csv t.csv --model m.isthmus": "--model needs no SOURCE; give one file",
    f"label {BOTH} --answers a.csv --target-label topic": "Give --answers or --target-label, not both",
    f"label {BOTH} --embed minilm --vectors v.npz w.npz": "--embed makes vectors and --vectors names them",
    f"label {BOTH} --read 5": "--read writes the questions next to the labels; name a file",
    f"label {BOTH} -o o.csv --engine local --tls ca=f": "--tls is for --scheduler ADDRESS",
    f"label {BOTH} --engine local": "Runs in blocks read and write files",
    "label s.csv -o o.csv --engine local": "A run in blocks needs SOURCE and TARGET",
    "teach m.isthmus -o o.csv": "There is nothing to learn; give ANSWERS, --words",
    "teach m.isthmus --rename r.csv --by kim -o o.csv": "--by names who gave ANSWERS, and there are none",
    "teach m.isthmus a.csv --json": "--json prints on stdout; name a file for the labels",
}


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_that_cannot_work_is_refused_before_anything_is_read(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(command.split(" ")) == 2, "a command that cannot work as it is written ends with 2"
    said = " ".join(capsys.readouterr().err.split())
    assert REFUSED[command] in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("pair", ["file", "ca", "other=file"])
def test_certificates_are_named_with_what_they_are_for(pair):
    assert read_tls(["ca=file"]) == {"tls_ca_file": "file"}
    with pytest.raises(UsageError, match=f"--tls '{pair}'; give ca=FILE, cert=FILE or key"):
        read_tls(["ca=file", pair])


def sentences(tree: ast.Module) -> list[ast.AST]:
    """What stands in ``raise UsageError(…)`` and in the cases of ``refuse(…)``; names are looked up in the file."""
    named = {node.targets[0].id: node.value for node in ast.walk(tree) if is_assignment(node)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and getattr(getattr(node.exc, "func", None), "id", "") == "UsageError":
            found.append(node.exc)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "refuse":
            said = [case.elts[1] for case in node.args]
            found += [named[part.id] if isinstance(part, ast.Name) else part for part in said]
    return found


def is_assignment(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)


def test_every_sentence_of_a_refusal_is_tried():
    """A check that is written tomorrow needs a test tomorrow: three words of its sentence stand in one."""
    tests = " ".join(path.read_text(encoding="utf-8") for path in ROOT.joinpath("tests").rglob("*.py"))
    tests = re.sub(r"\s+", " ", tests.replace("\\", ""))
    checked = 0
    for path in sorted(ROOT.joinpath("src", "isthmus", "cli").glob("*.py")):
        for sentence in sentences(ast.parse(path.read_text(encoding="utf-8"))):
            texts = [part.value for part in ast.walk(sentence) if isinstance(part, ast.Constant)]
            if not texts:
                assert path.name == "command.py", "only refuse() itself raises what it was given"
                continue
            words = [str(text).split() for text in texts]
            runs = {" ".join(part[at : at + 3]) for part in words for at in range(len(part) - 2)}
            assert any(run in tests for run in runs), f"{path.name}:{sentence.lineno}: no test speaks of {texts}"
            checked += 1
    assert checked >= 40
