"""The fixtures of ``workbench_server.py``; without the extra 'workbench' the tests of this folder are skipped."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("workbench_server")

if find_spec("uvicorn"):  # otherwise conftest.py at the root skips every file here
    from workbench_server import *  # noqa: F403
