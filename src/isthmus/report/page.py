"""Render a report: fill a template with plain values and write one HTML file that needs no network.

The page runs only its own script.
"""

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
from isthmus.wording import interval, percent

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # control characters of texts; HTML forbids them
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
    """Write the report page of a label result.

    Parameters
    ----------
    result : LabelResult
    path : str or Path
        Path of the page.
    force : bool
        Replace an existing page.
    source, target : Collection, optional
        Collections with the texts; created from the result's texts if omitted.
    files : mapping of str to str, optional
        Files of this run, for the commands on the page: ``table`` (the labelled table) and ``saved``.
    by : (str, list), optional
        Name and values of a column of the target; the page breaks the labels down by it.

    Returns
    -------
    Path
    """
    from isthmus.report.summary import label_summary

    check_output(path, force=force, table=False)
    source = source or Collection.from_texts(result.source_texts, list(result.source_labels), name="source texts")
    target = target or Collection.from_texts(result.texts, ids=result.ids, name="target texts")
    summary = label_summary(result, source, target, files=files, by=by)
    return write_page("label", summary, path, force=force)


def label_card(result) -> str:
    """Return the card of a label result for notebooks.

    Parameters
    ----------
    result : LabelResult

    Returns
    -------
    str
        HTML.
    """
    return render_card("hero", {"hero": hero_facts(result)})


def write_page(template: str, facts: Mapping[str, Any], path, *, force: bool) -> Path:
    """Fill a template and write the page atomically.

    Parameters
    ----------
    template : str
        Name of the template.
    facts : mapping of str to object
        Data of the page.
    path : str or Path
        Path of the page.
    force : bool
        Replace an existing page.

    Returns
    -------
    Path
    """
    page = render(template, facts)
    with replacing(path, force=force) as out:
        out.write(page.encode("utf-8", "replace"))
    return Path(path)


def render(template: str, facts: Mapping[str, Any]) -> str:
    """Fill a template.

    All data are escaped. The content security policy allows only the page's own script and style, by their hashes.

    Parameters
    ----------
    template : str
        Name of the template.
    facts : mapping of str to object
        Data of the page.

    Returns
    -------
    str
        HTML.
    """
    style, script = report_style(), read_part("script.js")
    markup = import_optional("markupsafe", "A report").Markup
    # Texts of users cannot run scripts, even if the escaping had a gap.
    policy = (
        f"default-src 'none'; script-src '{code_hash(script)}'; style-src '{code_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = (
        _kept_environment()
        .get_template(template)
        .render({**facts, "style": markup(style), "script": markup(script), "policy": markup(policy)})
    )
    # After rendering, so that no value escapes the replacement.
    return _CONTROL.sub("\ufffd", page)


def render_card(part: str, facts: Mapping[str, Any]) -> str:
    """Fill the template of a card.

    Parameters
    ----------
    part : str
        Name of the template.
    facts : mapping of str to object
        Data of the card.

    Returns
    -------
    str
        HTML.
    """
    return _CONTROL.sub("\ufffd", frame(_kept_environment().get_template(part).render(facts)))


def report_style() -> str:
    """Return the style sheet of a report.

    Returns
    -------
    str
        CSS.
    """
    return shared_style() + read_part("style.css")


@cache
def read_part(name: str) -> str:
    """Return the content of a file in the folder of templates.

    Parameters
    ----------
    name : str
        File name.

    Returns
    -------
    str
    """
    return (_TEMPLATES / name).read_text("utf-8")


def read_templates(file: Any) -> dict[str, str]:
    """Return the templates in a file by name.

    Parameters
    ----------
    file : path-like
        File in which a line with its name precedes each template.

    Returns
    -------
    dict of str to str
    """
    pieces = _TEMPLATE.split(file.read_text("utf-8"))[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def make_environment(more: Any = None) -> Any:
    """Return the environment of jinja with all templates and filters.

    Parameters
    ----------
    more : path-like, optional
        File with more templates; they replace templates with the same name.

    Returns
    -------
    jinja2.Environment
    """
    jinja2 = import_optional("jinja2", "A report")
    markup = import_optional("markupsafe", "A report").Markup
    templates = read_templates(_TEMPLATES / "pages.html.j2") | (read_templates(more) if more else {})
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(templates), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = percent
    environment.filters["interval"] = interval
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["plural"] = plural
    environment.filters["lang"] = lang_attribute
    environment.filters["points"] = points
    # as_json escapes the data, so that no text in it can end the script element.
    environment.filters["script_data"] = lambda content: markup(as_json(content))
    environment.filters["w"] = lambda share: f"{100 * max(0.0, min(1.0, share)):.2f}"
    environment.globals["parts"] = environment.get_template("parts").module  # macros that every page uses
    return environment


_kept_environment = cache(make_environment)  # cached, because the compilation of templates takes longer than a page


def points(change: float) -> str:
    """Return a change of a share in percentage points.

    Parameters
    ----------
    change : float
        Difference of two shares.

    Returns
    -------
    str
    """
    n = round(100 * change)
    if not n:
        return "as in the source"
    return f"{'+' if n > 0 else '−'}{abs(n)} {'point' if abs(n) == 1 else 'points'}"


def code_hash(code: str) -> str:
    """Return the hash of a script or style for the content security policy.

    Parameters
    ----------
    code : str
        The code.

    Returns
    -------
    str
    """
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
