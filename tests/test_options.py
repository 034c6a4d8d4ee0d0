"""Every option once: what a job knows, refuses and writes down, and that nobody spells an option out again."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import isthmus
from isthmus.cli.app import make_app
from isthmus.exceptions import UsageError
from isthmus.options import FILES, GROUPS, LEARNING, ClusterOptions, LabelOptions
from isthmus.scale import cluster_files, label_files

ROOT = Path(__file__).resolve().parents[1]
# Functions whose signature is the public contract; they hand what they get to a request or an estimator. The job of
# api/steps.py holds what was read by them: texts, vectors, words and classes.
OWN_SIGNATURE = {"options.py", "api/label.py", "api/steps.py", "api/cluster.py"}
SPECS = [spec for kind in (LabelOptions, ClusterOptions) for spec in kind.options().values()]
# How files and texts are read is a matter of readers and vectorisers too.
NAMES = {name for spec in SPECS if spec.group != FILES and not spec.reading for name in (spec.name, spec.key)}


@pytest.mark.parametrize(("kind", "command"), [(LabelOptions, "label"), (ClusterOptions, "cluster")])
def test_the_command_has_the_options_of_the_dataclass_and_no_others(kind, command):
    found = get_command(make_app()).commands[command]
    flags = {
        name: (tuple(part.opts), part.default)
        for part in found.params
        if (name := part.name) not in ("files", "help_all")
    }
    wanted = {
        name: (spec.flags, None if spec.many else spec.default) for name, spec in kind.options().items() if spec.flags
    }
    assert {name: (tuple(sorted(o)), d) for name, (o, d) in flags.items()} == {
        name: (tuple(sorted(o)), d) for name, (o, d) in wanted.items()
    }


@pytest.mark.parametrize(("kind", "function"), [(LabelOptions, label_files), (ClusterOptions, cluster_files)])
def test_functions_that_read_in_blocks_show_the_options_of_the_dataclass(kind, function):
    text, shown = inspect.getdoc(function), inspect.signature(function).parameters
    own = {"sources", "target", "output", "client", "tls", "spreadsheet_safe", "keep_work"}
    wanted = {spec.key: spec for spec in kind.options().values() if spec.blocks and not spec.command_only}
    assert set(shown) - own == set(wanted)
    assert {"text", "block_rows", "random_state", "force"} <= set(wanted)
    for name, spec in wanted.items():
        assert shown[name].default == (spec.usual if spec.default is None else spec.default)
        assert f"\n{name} : " in text.partition("\nReturns\n")[0]
        assert f"\n    {spec.help}\n" in text
    for name in ("metod", "answers", "quiet"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            function("s.csv", "t.csv", "o.csv", **{name: True})


@pytest.mark.parametrize(("kind", "function"), [(LabelOptions, isthmus.label), (ClusterOptions, isthmus.cluster)])
def test_python_and_the_command_do_the_same_where_nothing_is_said(kind, function):
    usual = {
        spec.key: (None if spec.many else spec.default) if spec.usual is None else spec.usual
        for spec in kind.options().values()
    }
    shown = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    assert {"random_state", "analyzer", "min_df", "language"} <= usual.keys() & shown.keys()
    for name in usual.keys() & shown.keys():
        assert shown[name] == usual[name], name


def test_the_signature_of_label_has_every_option_that_is_not_about_files():
    """Files, outputs and blocks have no meaning for texts in memory; these options have another form in Python."""
    other_form = {
        "words": "word_labels",
        "extra": "extra_texts",
        "target_label": "target_labels",
        "class_table": "classes",
    }
    other_form |= {"labeller": "method", "answers": "target_labels"}
    shown = set(inspect.signature(isthmus.label).parameters)
    wanted = {
        other_form.get(spec.name, spec.key) for spec in LabelOptions.options().values() if spec.group == LEARNING
    } | {"target_labels", "text", "label", "id"}
    texts = {"source_texts", "source_labels", "target_texts", "source_domain"}
    assert wanted - {"text", "label", "id"} == shown - texts - {"text", "label", "id"}


@pytest.mark.parametrize("given", [{"embed": "none"}, {"embed": False}, {"word_labels": "none", "embed": "none"}])
def test_python_takes_the_words_of_the_command(given):
    source, labels = ["kind staff", "great bike", "polite staff", "fast bike"], ["staff", "product"] * 2
    result = isthmus.label(source, labels, ["rude staff", "slow bike"], method="nbc", **given)
    assert result.labels.tolist() == ["staff", "product"]


def screen(*arguments: str) -> str:
    found = subprocess.run([sys.executable, "-m", "isthmus", *arguments], capture_output=True, text=True, check=True)
    return found.stdout


@pytest.mark.parametrize("command", ["label", "cluster"])
def test_the_first_screen_shows_ten_options_and_help_all_shows_every_one(command):
    kind = LabelOptions if command == "label" else ClusterOptions
    flags = {spec.shown: spec.first for spec in kind.options().values() if spec.flags}
    first, every = screen(command, "--help"), screen(command, "--help-all")
    assert sum(flags.values()) == 10
    for flag, shown in flags.items():
        assert (f"{flag} " in first.partition("Files:")[2]) == shown, flag
        assert f"{flag} " in every.partition("Files:")[2], flag
    places = [every.index(f"\n{group}:") for group in GROUPS]
    assert places == sorted(places)


def test_groups_stand_in_the_order_of_help_texts():
    places = [GROUPS.index(spec.group) for spec in LabelOptions.options().values()]
    assert places == sorted(places)


def test_python_names_are_read_and_unknown_ones_are_refused_with_a_suggestion():
    request = LabelOptions.build({"random_state": 3, "text": "comment", "extra": ["a.csv", "b.csv"]})
    assert (request.seed, request.text, request.extra) == (3, ("comment",), ("a.csv", "b.csv"))
    with pytest.raises(UsageError, match=r"no option .metod.; did you mean method"):
        LabelOptions.build({"metod": "nbc"})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"error_budget": 7}, "--error-budget 7; give a number between 0 and 1"),
        ({"error_budget": True}, "--error-budget True; give a number between 0 and 1"),
        ({"seed": -1}, "--seed -1; give a whole number between 0 and 4294967295"),
        ({"block_rows": 0}, "--block-rows 0; give a whole number from 1"),
        ({"analyzer": "wrods"}, "--analyzer 'wrods'; use one of auto, words"),
        ({"engine": "spark"}, "--engine 'spark'; use one of local, dask"),
    ],
    ids=str,
)
def test_values_outside_the_table_are_refused(given, sentence):
    with pytest.raises(UsageError) as caught:
        LabelOptions(**given).check()
    assert str(caught.value).startswith(sentence), f"expected {sentence!r}, found {str(caught.value)!r}"
    assert caught.value.code == "bad-parameter"


def test_limits_themselves_are_allowed():
    LabelOptions(error_budget=0, seed=2**32 - 1, block_rows=1).check()
    LabelOptions(error_budget=1, seed=0).check()


def test_what_a_saved_model_cannot_do_is_refused_by_name():
    with pytest.raises(UsageError, match="leave out --method, --seed"):
        LabelOptions(method="nbc", seed=3, model=Path("m"), error_budget=0.2).refuse_given("x", can="model")
    LabelOptions(model=Path("m"), text=("a",), report=Path("r"), vectors="v").refuse_given("x", can="model")


def test_the_record_holds_what_was_given_as_plain_values():
    files = ("a.csv", "b.csv", "c.csv")
    record = LabelOptions(files=files, text=("comment",), extra=(Path("x"), Path("y")), quiet=True).for_record()
    assert record["source"] == ["a.csv", "b.csv"]
    assert record["target"] == "c.csv"
    assert record["text"] == "comment"
    assert record["extra"] == ["x", "y"]
    assert record["method"] == "auto"
    assert not {"quiet", "files", "min_df", "report"} & set(record)


def calls_with_flags(tree: ast.AST) -> list[str]:
    """Flags that are spelled out, in calls of typer.Option or of the commands' own flag."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (getattr(node.func, "attr", "") == "Option" or is_flag(node.func)):
            typed = " ".join(part.value for part in node.args if isinstance(part, ast.Constant))
            found += [word for word in typed.split() if word.startswith("-")]
    return found


def is_flag(called: ast.expr) -> bool:
    return getattr(called, "id", "") == "flag"


@pytest.mark.parametrize("text", ['typer.Option("--seed", help="x")', 'flag("-s --seed N", "x")'])
def test_flags_are_found_however_they_are_written(text):
    assert "--seed" in calls_with_flags(ast.parse(text))


def test_no_help_sentence_of_an_option_stands_a_second_time():
    sentences = {spec.help for kind in (LabelOptions, ClusterOptions) for spec in kind.options().values()}
    repeated = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.name == "options.py":
            continue
        text = path.read_text(encoding="utf-8")
        repeated += [(path.name, sentence) for sentence in sentences if f'"{sentence}"' in text]
    assert repeated == []


def test_flags_with_the_same_meaning_are_taken_from_the_request():
    """Of the options that every command has, none is written down twice."""
    everywhere = {"--json", "--force", "--quiet", "--exact", "--seed", "--language", "--method", "--analyzer"}
    found = []
    for name in ("ask", "check", "cluster", "demo", "diagnose", "explain", "label", "label_run", "teach"):
        tree = ast.parse((ROOT / "src/isthmus/cli" / f"{name}.py").read_text(encoding="utf-8"))
        found += [(name, flag) for flag in calls_with_flags(tree) if flag in everywhere]
    assert found == []


def functions_that_repeat_defaults() -> list[tuple[str, str]]:
    """Functions and classes that give three or more options of a request a default of their own."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        place = path.relative_to(ROOT / "src/isthmus").as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                given = {argument.arg for argument, default in pairs if default is not None}
            elif isinstance(node, ast.ClassDef):
                fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and part.value]
                given = {part.target.id for part in fields if "positional=True" not in ast.unparse(part.value)}
            else:
                continue
            if len(given & NAMES) >= 3 and place not in OWN_SIGNATURE:
                found.append((place, node.name))
    return found


def test_no_function_or_class_spells_the_options_out_again():
    assert functions_that_repeat_defaults() == []


def options_by_name(node: ast.AST) -> set[str]:
    """Options that a call or a dictionary takes out of a request one by one, or that a list of strings names."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return {part.value for part in node.elts if isinstance(part, ast.Constant)} & NAMES
    pairs = []
    if isinstance(node, ast.Call):
        pairs = [(part.arg, part.value) for part in node.keywords]
    elif isinstance(node, ast.Dict):
        pairs = [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values, strict=True)]
    return {name for name, value in pairs if name in NAMES and getattr(value, "attr", None) in NAMES}


@pytest.mark.parametrize(
    "text",
    [
        "run(method=request.method, n_clusters=request.clusters, workers=request.workers)",
        "{'method': asked.method, 'sample': asked.sample, 'add': asked.add}",
        "('engine', 'workers', 'resume')",
    ],
)
def test_options_handed_on_by_hand_are_found(text):
    assert len(options_by_name(ast.parse(text, mode="eval").body)) == 3


def test_requests_are_handed_on_whole():
    """Runs in blocks took twenty options one by one, and the command listed them once more."""
    found = set()
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(len(options_by_name(node)) >= 3 for node in ast.walk(tree)):
            found.add(path.relative_to(ROOT / "src/isthmus").as_posix())
    assert found == {"options.py", "cli/cluster.py"}, "the table itself, and what may stand beside --within"


def test_an_option_without_a_value_and_one_that_is_like_no_other():
    assert LabelOptions.build({"text": None, "extra": "a.csv"}).text is None
    assert LabelOptions.build({"extra": "a.csv"}).extra == ("a.csv",), "one text is one value"
    with pytest.raises(UsageError, match=r"no option 'zzzzzz'; it has files, text, label, "):
        LabelOptions.build({"zzzzzz": 1})
    LabelOptions(error_budget=None, block_rows=None).check()
    with pytest.raises(UsageError, match=r"--seed 1\.0; give a whole number"):
        LabelOptions(seed=1.0).check()
    with pytest.raises(UsageError, match="sample 49; give a whole number from 50"):
        LabelOptions(sample=49).check()
    LabelOptions(sample=50).check()
