"""Pages and tables made from the package itself, so that they cannot go stale.

Everything lands in ``docs/reference/generated``: a page per public object, the API index, and parts that pages include
(``.inc``): error codes, methods, commands, options, benchmark records.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import isthmus
from isthmus.exceptions import CODES
from isthmus.methods import METHODS
from isthmus.options import GROUPS, ClusterOptions, LabelOptions, Option

OURS = ("isthmus", "isthmus_bench")

# Packages and modules whose public names have their own pages, in the order in which data passes through them.
PACKAGES = (
    ("isthmus", "The short list", "What most programs need, importable from `isthmus` itself."),
    ("isthmus.api.result", "What label gives", "The labelling: labels, confidence, reasons, checks, reports, files."),
    ("isthmus.api.cluster", "What cluster gives", "The grouping: clusters, names, alignment."),
    ("isthmus.api.diagnose", "What diagnose gives", "Findings, most serious first, with advice."),
    ("isthmus.base", "Input validation", "Source and target rows, masked labels, base classes."),
    ("isthmus.pipeline", "Pipelines", "Vectoriser and method as one estimator that accepts domains."),
    ("isthmus.methods", "Recipes", "Named ways from texts to labels."),
    ("isthmus.corpus", "Read", "Collections of documents, and files they come from."),
    ("isthmus.features", "Vectorise", "From texts to sparse matrices and kernels."),
    ("isthmus.shift", "Measure", "How far apart two domains are."),
    ("isthmus.classify", "Label", "Classifiers and the functions behind them."),
    ("isthmus.classify.labeller", "Label: any labeller", "A rule file or a language model as one more method."),
    ("isthmus.clustering", "Group", "Clustering guided by another domain."),
    ("isthmus.choose", "Judge", "Choosing a method without target labels."),
    ("isthmus.evaluate", "Score", "Metrics of labels and groups, agreement of annotators."),
    ("isthmus.explain", "Account", "Why this label: tables from fitted attributes."),
    ("isthmus.explain.cocc", "Account: co-clustering", "What the word clusters say."),
    ("isthmus.explain.projection", "Account: term projection", "Exact contributions of terms."),
    ("isthmus.explain.strings", "Account: string kernels", "Contributions of n-grams, words and documents."),
    ("isthmus.report.charts", "Charts", "A table and a description in, a picture out."),
    ("isthmus.report", "Show", "Charts and the report page."),
    ("isthmus.scale", "Spread", "Files larger than memory, and clusters."),
    ("isthmus_bench.engine.suite", "Repeat", "What a benchmark suite is made of."),
    ("isthmus.workspace", "Last", "Projects, runs and answers of a team in a database."),
    ("isthmus.workbench", "Meet", "The web pages over a workspace."),
    ("isthmus.estimator_checks", "Check", "Checks for estimators, ours and yours."),
    ("isthmus.exceptions", "Errors", "What may be raised, each with a stable code."),
)

# Public functions of modules that are not listed completely.
SELECTED = {
    "isthmus.classify.labeller": ["CommandLabeller", "LabellerClassifier"],
    "isthmus.explain.cocc": ["bridge_words", "cluster_table", "document_table"],
    "isthmus.explain.projection": ["explain_projection"],
    "isthmus.explain.strings": ["nearest_documents", "ngram_contributions", "word_contributions"],
    "isthmus.report.charts": ["draw", "save_chart", "to_svg"],
}


def write_all(docs: Path) -> None:
    """Write every generated file below ``docs``; files that would not change are left alone."""
    folder = docs / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        **api_pages(),
        **bench_parts(docs.parent / "benchmarks" / "records"),
        "codes.inc": codes_table(),
        "commands.inc": command_reference(),
        "options.inc": options_tables(),
        "methods.inc": methods_table(),
    }
    for stale in folder.iterdir():
        if stale.name not in files:
            stale.unlink()
    for name, content in files.items():
        path, data = folder / name, content if isinstance(content, bytes) else content.encode("utf-8")
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)


# -- the API reference ------------------------------------------------------------------------------------------------


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: ``__all__``, or else its own functions and classes without a leading underscore."""
    names = getattr(module, "__all__", None)
    if names is None:
        own = vars(module).items()
        names = [name for name, value in own if getattr(value, "__module__", None) == module.__name__]
    names = SELECTED.get(module.__name__, names)
    return sorted(name for name in names if not name.startswith("_") and _is_documented(find(module, name)))


def find(module: ModuleType, name: str) -> object:
    """What a public name stands for: ``isthmus.cluster`` is a function, though its package has the same name."""
    if module is isthmus and name in isthmus._PUBLIC:
        return getattr(importlib.import_module(isthmus._PUBLIC[name]), name)
    return getattr(module, name)


def _is_documented(value: object) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def packages() -> list[tuple[str, str, str, list[str]]]:
    """Module, title, sentence and names of each package that exists; an object is listed once, where it comes first."""
    seen: set[int] = set()
    listed = []
    for name, title, sentence in PACKAGES:
        if importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        fresh = [public for public in public_names(module) if id(find(module, public)) not in seen]
        seen.update(id(find(module, public)) for public in fresh)
        if fresh:
            listed.append((name, title, sentence, fresh))
    return listed


def api_pages() -> dict[str, str]:
    """File name to text: the tables of packages for the API page, and a page per object."""
    pages, tables = {}, []
    for module_name, title, sentence, names in packages():
        module = importlib.import_module(module_name)
        rows = []
        for name in names:
            value = find(module, name)
            pages[f"{module_name}.{name}.rst"] = _object_page(module_name, name, value, names)
            rows.append((f"[`{name}`](generated/{module_name}.{name}.rst)", _first_line(value)))
        tables.append(f"## {title}\n\n`{module_name}`: {sentence}\n\n{_table(('Name', 'What it is'), rows)}")
    pages["packages.inc"] = "\n\n".join(tables) + "\n"
    return pages


def _object_page(module: str, name: str, value: object, names: list[str]) -> str:
    title = f"{module}.{name}"
    # If a package has the name of a function, Sphinx would find the package: name the module of the function instead.
    shadowed = importlib.util.find_spec(title) is not None if module == "isthmus" else False
    home = value.__module__ if shadowed else module
    lines = [title, "=" * len(title), "", f".. currentmodule:: {home}", ""]
    if inspect.isclass(value):
        lines += [f".. autoclass:: {name}", ""]
        methods = _own_methods(value)
        if methods:
            lines += [".. rubric:: Methods", ""]
        for method in methods:
            lines += [f".. automethod:: {name}.{method}", ""]
    else:
        lines += [f".. autofunction:: {name}", ""]
    if "See Also" not in (inspect.getdoc(value) or ""):
        others = [f":obj:`~{module}.{other}`" for other in names if other != name]
        lines += [f".. seealso:: In the same package: {', '.join(others)}.", ""] if others else []
    lines += [f".. minigallery:: {title}", "   :add-heading: In the gallery", "   :heading-level: -", ""]
    return "\n".join(lines)


def _own_methods(kind: type) -> list[str]:
    """Documented public methods that this package wrote; scikit-learn documents its own."""
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.split(".")[0] not in OURS:
            continue
        for name, value in vars(base).items():
            written = inspect.isfunction(value) and value.__doc__ and not name.startswith("_")
            # scikit-learn adds set_fit_request and the like to our classes
            if written and value.__module__.split(".")[0] in OURS:
                found[name] = None
    return list(found)


def _first_line(value: object) -> str:
    text = (inspect.getdoc(value) or "").strip()
    return text.splitlines()[0].replace("``", "`") if text else ""


# -- tables that pages include ----------------------------------------------------------------------------------------


def codes_table() -> str:
    """Every error and warning code with its meaning."""
    return _table(("Code", "Meaning"), [(f"`{code}`", meaning) for code, meaning in CODES.items()])


def methods_table() -> str:
    """Every recipe with what it does and the page that describes it (paths as seen from its folder)."""
    rows = []
    for recipe in METHODS.values():
        page = recipe.page or recipe.name
        yes_no = ("yes" if recipe.adapts else "no", "yes" if recipe.takes_words else "no")
        rows.append((f"[`{recipe.name}`]({page}.md)", recipe.summary, *yes_no))
    return _table(("`--method`", "What it does", "Learns from the target's texts", "Takes labelled words"), rows)


def options_tables() -> str:
    """Every option of the jobs, as the dataclasses define them: what the command and Python call it."""
    parts = []
    for kind, title in ((LabelOptions, "label"), (ClusterOptions, "cluster")):
        parts.append(f"## `{title}`")
        for group in GROUPS:
            rows = [
                (f"`{option.flags[-1]}`" if option.flags else "", f"`{option.key}`", _value(option), option.help)
                for option in kind.options().values()
                if option.group == group
            ]
            parts.append(
                f"### {group} of `{title}`\n\n{_table(('Command', 'Python', 'Default', 'What it does'), rows)}"
            )
    return "\n\n".join(parts)


def _value(option: Option) -> str:
    start = option.start
    return "" if start is None or start == () else f"`{start}`"


def command_reference() -> str:
    """Every command with its arguments and options, as the program itself knows them."""
    if importlib.util.find_spec("typer") is None:
        return "The command needs the extra `app`.\n"
    import typer

    app = importlib.import_module("isthmus.cli.app").make_app()
    return "\n\n".join(_command_sections(typer.main.get_command(app), "isthmus")) + "\n"


def _command_sections(command, name: str) -> list[str]:
    if hasattr(command, "commands"):
        parts = [_command_sections(part, f"{name} {key}") for key, part in command.commands.items() if not part.hidden]
        return [section for part in parts for section in part]
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    usage = " ".join([name, *((parameter.metavar or parameter.name).upper() for parameter in arguments), "[OPTIONS]"])
    rows = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name in ("help", "help_all"):
            continue
        shown = parameter.opts if parameter not in arguments else [(parameter.metavar or parameter.name).upper()]
        rows.append((", ".join(f"`{opt}`" for opt in shown), " ".join((parameter.help or "").split())))
    text = (command.help or "").replace("\b", "").replace("\f", "").strip()
    example = (command.epilog or "").removeprefix("Example: ")
    text += f"\n\n```console\n$ {example}\n```" if example else ""
    return [f"## `{name}`", f"```text\n{usage}\n```", text, _table(("Argument or option", "What it does"), rows)]


def bench_parts(folder: Path) -> dict[str, str | bytes]:
    """A part per recorded suite for its page in ``docs/measured`` to include, its charts, and the papers' tables."""
    files: dict[str, str | bytes] = {}
    records = importlib.import_module("isthmus_bench.engine.records")
    for suite in sorted(path.parent for path in folder.rglob("results.md")):
        name = "-".join(suite.relative_to(folder).parts)  # gpu/speed: a record of another machine, or of another day
        results = (suite / "results.md").read_text(encoding="utf-8")
        # The list of studies links to files beside the record; here the studies follow on the same page.
        results = re.sub(r"^## Studies\n+(?:- .*\n?)+", "", results, flags=re.M)
        parts = [_demote(re.sub(r"^# .*\n+", "", results).strip())]
        for page in sorted(path for path in suite.glob("*.md") if path.name != "results.md"):
            parts.append(_demote(_demote(page.read_text(encoding="utf-8").strip())))
        record = records.Record.open(suite.parent, suite.name)
        said = [record.code_sentence()]
        rows = [row for unit in record.units.values() for row in unit.get("rows", ())]
        if rows:
            files[f"bench-{name}.csv"] = importlib.import_module("isthmus_bench.engine.tables").to_csv(rows)
            said += [f"All rows with all digits: {{download}}`{name}.csv <../reference/generated/bench-{name}.csv>`."]
        text = fold_tables("\n\n".join([" ".join(filter(None, said)), *parts])) + "\n"
        for chart in sorted(suite.glob("*.svg")):
            files[f"bench-{name}-{chart.name}"] = chart.read_bytes()
            text = text.replace(f"]({chart.name})", f"](../reference/generated/bench-{name}-{chart.name})")
        text = re.sub(r"!\[[^]]*\]\([\w.-]+\.svg\)\n*", "", text)  # a chart that was not recorded
        files[f"bench-{name}.inc"] = text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
        for table in suite.glob("*.csv"):
            if not table.with_suffix(".md").exists():
                files[f"table-{name}-{table.stem}.inc"] = csv_table(table)
    papers = importlib.import_module("isthmus_bench.engine.papers").paper_tables(folder)
    files |= {f"paper-{suite}.inc": table + "\n" for suite, table in papers.items()}
    return files


def fold_tables(text: str, most: int = 12) -> str:
    """Long tables folded, but for the first: what they say stands in the notes, and their rows are there to look up."""
    blocks = text.split("\n\n")
    tables = [place for place, block in enumerate(blocks) if block.startswith("| ")]
    for place in tables[1:]:
        rows = blocks[place].count("\n") - 1
        if rows > most:
            blocks[place] = f"<details><summary>{rows} rows</summary>\n\n{blocks[place]}\n\n</details>"
    return "\n\n".join(blocks)


def csv_table(path: Path) -> str:
    """A recorded table that has no page of its own, as a page shows it."""
    with path.open(encoding="utf-8", newline="") as stream:
        head, *rows = csv.reader(stream)
    return _table(tuple(head), [tuple(map(_short, row)) for row in rows])


def _short(cell: str) -> str:
    """Four digits of a figure are enough."""
    return f"{float(cell):.4g}" if re.fullmatch(r"-?\d+\.\d{4,}(e-?\d+)?", cell) else cell


def _demote(text: str) -> str:
    """Headings one level down, code left alone."""
    lines, fenced = [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append("#" + line if line.startswith("#") and not fenced else line)
    return "\n".join(lines)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
