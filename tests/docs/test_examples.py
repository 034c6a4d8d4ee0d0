"""Code in README, pages and examples/ runs; commands shown exist."""

import doctest
import re
import runpy
import shlex
import sys
import types

import docs_pages as pages
import pytest

EXAMPLES = sorted((pages.ROOT / "examples").glob("*.py"))
PAGES_WITH_CODE = [
    path
    for path in pages.pages()
    if path.is_file() and any(block.info == "python" for block in pages.blocks(path.read_text(encoding="utf-8")))
]


# Pages whose code needs extras beyond those that everybody has: the name of each, and a package of it.
NEEDED = {
    "docs/howto/workspace.md": {"workbench": "sqlalchemy"},
    "docs/reference/errors.md": {"scale": "distributed", "workbench": "sqlalchemy"},
}


def run_page(path, namespace):
    """Run a page's python blocks in order in one namespace; line numbers in errors are those of the page."""
    for block in pages.blocks(path.read_text(encoding="utf-8")):
        if block.info != "python" or block.skip:
            continue
        if block.text.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block.text, namespace, path.name, str(path), block.line - 1)
            report: list[str] = []
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
            runner.run(test, out=report.append, clear_globs=False)
            namespace.update(test.globs)
            assert runner.failures == 0, "".join(report)
        else:
            exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), namespace)


# A reader sees our notes about the data ("one document has no known word"); any other warning is an error.
notes_allowed = pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")


@notes_allowed
@pytest.mark.parametrize("path", PAGES_WITH_CODE, ids=pages.name)
def test_code_on_pages_runs(path, tmp_path, monkeypatch):
    for extra, package in NEEDED.get(pages.name(path), {}).items():
        pytest.importorskip(package, reason=f"the code on this page needs the extra {extra!r}")
    monkeypatch.chdir(tmp_path)  # a page may write files
    page = types.ModuleType("__page__")  # its classes can be found again, as in a script
    monkeypatch.setitem(sys.modules, "__page__", page)
    run_page(path, page.__dict__)


@notes_allowed
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip(), f"examples/{path.name} prints nothing"
    assert namespace["chart"].to_dict()["$schema"], f"examples/{path.name} draws nothing; call the picture chart"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_begin_with_a_question_and_end_with_a_picture(path):
    text = path.read_text(encoding="utf-8")
    opening = text.split("===\n\n", 1)[1].split("\n\n")[0]
    assert "?" in " ".join(opening.split()).split(". ")[0], f"the first sentence of {path.name} asks nothing"
    assert text.rstrip().endswith("\nchart"), f"{path.name} does not end with its picture"


def test_there_is_code_to_run():
    names = {pages.name(path) for path in PAGES_WITH_CODE}
    assert {"README.md", "docs/start/ten-minutes.md", "docs/understand/domains.md"} <= names
    assert len(EXAMPLES) >= 10


def test_a_page_that_fails_says_where(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\ntext\n\n```python\nassert x == 2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError) as caught:
        run_page(page, {})
    assert caught.traceback[-1].lineno + 1 == 10
    page.write_text("```python\n>>> 1 + 1\n3\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="Expected:"):
        run_page(page, {})


def test_blocks_marked_to_be_skipped_do_not_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- skip: needs the corpora -->\n\n```python\n1 / 0\n```\n\n```python\nseen = 1\n```\n", encoding="utf-8"
    )
    namespace = {}
    run_page(page, namespace)
    assert namespace["seen"] == 1


# -- commands ------------------------------------------------------------


def shown_commands():
    for path in pages.pages():
        if not path.is_file():
            continue
        for block in pages.blocks(path.read_text(encoding="utf-8")):
            if block.info not in ("console", "bash", "sh"):
                continue
            text = re.sub(r"\\\n\s*", " ", block.text)
            for line in text.splitlines():
                words = line.strip().removeprefix("$ ")
                if words.startswith("isthmus "):
                    yield pytest.param(words, id=f"{pages.name(path)}: {words}")


@pytest.fixture(scope="module")
def commands():
    """The command and its sub-commands, as click sees them."""
    typer = pytest.importorskip("typer", reason="the command needs the extra 'app'")
    from isthmus.cli.app import make_app

    return typer.main.get_command(make_app())


@pytest.mark.parametrize("line", list(shown_commands()))
def test_commands_on_pages_exist_with_their_options(line, commands):
    command, words = commands, shlex.split(line, comments=True)[1:]
    words = words[: next((i for i, word in enumerate(words) if word in ("|", ">", ">>", "&&")), len(words))]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}; there are {sorted(command.commands)}"
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "--version"}
    for word in words:
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known, f"{line!r}: no option {word}; there are {sorted(known)}"
