"""The page: numbers in a plain dict → template → one HTML file that needs no network and runs one known script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from isthmus._cards import frame, shared_style
from isthmus._utils import import_optional, plural
from isthmus.corpus import Collection, check_output, replacing
from isthmus.report.hero import hero_facts
from isthmus.report.listing import as_json, lang_attribute

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # no part of a page; from texts and labels
_TEMPLATES = resources.files("isthmus.report") / "templates"
_TEMPLATE = re.compile(r"^\{# === (\w+) #\}\n", re.MULTILINE)


def write_label_report(
    result,
    path,
    *,
    force: bool = False,
    source: Collection | None = None,
    target: Collection | None = None,
    files: Mapping[str, str] | None = None,
    by: tuple[str, list] | None = None,
) -> Path:
    """Write the page about a labelling.

    Parameters
    ----------
    result : LabelResult
    path : path of the page
    force : bool
        Replace a page that exists.
    source, target : Collection, optional
        Where the texts came from; made from the result's texts if omitted.
    files : mapping, optional
        Names of the files of this run, for the commands on the page: ``table`` (the labelled table), ``saved``.
    by : (str, list), optional
        Name and values of a column of the target by which the labels are broken down.
    """
    from isthmus.report.summary import label_summary

    check_output(path, force=force, table=False)
    source = source or Collection.from_texts(result.source_texts, list(result.source_labels), name="source texts")
    target = target or Collection.from_texts(result.texts, ids=result.ids, name="target texts")
    summary = label_summary(result, source, target, files=files, by=by)
    return write_page("label", summary, path, force=force)


def label_card(result) -> str:
    return render_card("hero", {"hero": hero_facts(result)})


def write_page(template: str, facts: Mapping[str, Any], path, *, force: bool) -> Path:
    """Fill a template and write it, whole or not at all."""
    page = render(template, facts)
    with replacing(path, force=force) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def render(template: str, facts: Mapping[str, Any]) -> str:
    """Fill a template: all data is escaped, and the policy names the page's own code by hash."""
    style, script = report_style(), read_part("script.js")
    markup = import_optional("markupsafe", "A report").Markup
    policy = (
        f"default-src 'none'; script-src '{code_hash(script)}'; style-src '{code_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = (
        _kept_environment()
        .get_template(template)
        .render({**facts, "style": markup(style), "script": markup(script), "policy": markup(policy)})
    )
    return _CONTROL.sub("\ufffd", page)


def render_card(part: str, facts: Mapping[str, Any]) -> str:
    return _CONTROL.sub("\ufffd", frame(_kept_environment().get_template(part).render(facts)))


def report_style() -> str:
    return shared_style() + read_part("style.css")


@cache
def read_part(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


def read_templates(file: Any) -> dict[str, str]:
    """The templates of a file by name; each begins below a line that names it."""
    pieces = _TEMPLATE.split(file.read_text("utf-8"))[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def make_environment(more: Any = None) -> Any:
    """The templates with their filters; those of a further file come on top."""
    jinja2 = import_optional("jinja2", "A report")
    markup = import_optional("markupsafe", "A report").Markup
    templates = read_templates(_TEMPLATES / "pages.html.j2") | (read_templates(more) if more else {})
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(templates), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda value, digits=0: f"{100 * value:.{digits}f} %"
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["plural"] = plural
    environment.filters["lang"] = lang_attribute
    environment.filters["points"] = points
    # Escaped by hand: nothing in it can end the script element it stands in.
    environment.filters["script_data"] = lambda content: markup(as_json(content))
    environment.filters["w"] = lambda share: f"{100 * max(0.0, min(1.0, share)):.2f}"
    environment.globals["parts"] = environment.get_template("parts").module  # macros of every page
    return environment


_kept_environment = cache(make_environment)  # compiling the templates takes longer than filling them


def points(change: float) -> str:
    n = round(100 * change)
    if not n:
        return "as in the source"
    return f"{'+' if n > 0 else '−'}{abs(n)} {'point' if abs(n) == 1 else 'points'}"


def code_hash(code: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
