"""Python files outside the package, as modules: tools, and what the documentation is built with."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load_file(path):
    """A file of the project, by its path from the project's root."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
