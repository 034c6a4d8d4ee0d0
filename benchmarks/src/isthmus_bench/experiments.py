"""Experiments as TOML files: a suite with the tasks, methods, seeds and settings of one table of a paper."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from isthmus.evaluate import accuracy
from isthmus.exceptions import UsageError
from isthmus_bench.engine.harness import find_suite
from isthmus_bench.engine.suite import Method, Suite, TaskData, pack_correct
from isthmus_bench.suites.cocc import fit_recipe

KEYS = ("title", "paper", "suite", "tasks", "methods", "seeds", "studies", "settings")


def read_experiment(path: str | Path) -> tuple[Suite, dict[str, Any]]:
    """Read an experiment file.

    Parameters
    ----------
    path : path

    Returns
    -------
    suite : Suite
        With one more method for each table ``[settings.NAME]``.
    wanted : dict
        ``tasks``, ``methods``, ``seeds`` and ``studies`` of the file.

    Raises
    ------
    UsageError
        With code ``bad-parameter`` if the file is no TOML, names no suite or has unknown keys.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not a TOML file: {error}.", code="bad-parameter") from None
    unknown = [name for name in content if name not in KEYS]
    if unknown or "suite" not in content:
        problem = f"has the unknown key {unknown[0]!r}" if unknown else "names no suite"
        raise UsageError(f"{path} {problem}; the keys are {', '.join(KEYS)}.", code="bad-parameter")
    suite = find_suite(content["suite"])
    more = {name: _with_settings(name, dict(given), path) for name, given in content.get("settings", {}).items()}
    suite = replace(suite, methods={**suite.methods, **more})
    return suite, {name: content.get(name) for name in ("tasks", "methods", "seeds", "studies")}


def _with_settings(name: str, given: dict[str, Any], path: str | Path) -> Method:
    """Return a method with other parameters than its defaults."""
    if "method" not in given:
        raise UsageError(
            f"[settings.{name}] of {path} names no method; add a line such as method = 'cocc'.", code="bad-parameter"
        )
    method = given.pop("method")

    def run(data: TaskData, seed: int) -> list[dict]:
        _, predicted, seconds = fit_recipe(data, method, seed, **given)
        score = accuracy(data.target_labels, predicted)
        return [
            {
                "metric": "accuracy",
                "value": score,
                "seconds": seconds,
                "correct": pack_correct(data.target_labels, predicted),
            }
        ]

    return Method(name=name, run=run)
