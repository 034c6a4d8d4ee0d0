"""Stamps: what makes a recorded row old, and what does not."""

import os

import pytest

from isthmus_bench.engine import stamps
from isthmus_bench.engine.stamps import changed_modules, current_hash, hash_code, loaded_code

CODE = '''
"""A module."""
import math

LIMIT = 3  # of a kind


class Sum:
    """A sum."""

    start: float = 0.0

    def of(self, values, *, power=1):
        """Of the values."""
        return self.start + sum(math.pow(value, power) for value in values if value is not None)
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # of a kind", ""),
        ("LIMIT = 3", "# How many.\nLIMIT = (3)"),
        ('"""A module."""', '"""Another text.\n\nOf two parts.\n"""'),
        ('    """A sum."""\n', ""),
        ('        """Of the values."""\n', '        "Of any values."\n'),
        ("start: float = 0.0\n", 'start: float = 0.0\n    """Where it begins."""\n'),
        ("self.start + sum(", "self.start + sum(\n            "),
        ("\n\n\n", "\n\n"),
    ],
)
def test_what_nothing_is_computed_from_does_not_count(old, new):
    changed = CODE.replace(old, new)
    assert changed != CODE
    assert hash_code(changed) == hash_code(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("LIMIT = 3", "LIMIT = 3.0"),
        ("LIMIT = 3", "LIMIT = '3'"),
        ("LIMIT = 3", "LIMIT = None"),
        ("power=1", "power=True"),
        ("power=1", "power"),
        ("*, power", "power"),
        ("self.start +", "self.start -"),
        (" if value is not None", ""),
        ("class Sum", "class Total"),
        ("import math", "import cmath as math"),
        ("start: float = 0.0", 'start: float\n    "= 0.0"'),
    ],
)
def test_every_change_of_code_counts(old, new):
    assert hash_code(CODE.replace(old, new)) != hash_code(CODE)


def test_nothing_is_not_zero_and_not_false():
    hashes = {hash_code(f"x = {value}") for value in ("None", "0", "False", "''", "()", "[]", "...", "'...'")}
    assert len(hashes) == 8


def test_a_module_is_looked_at_again_where_its_file_has_changed(tmp_path, monkeypatch):
    monkeypatch.setitem(stamps._ROOTS, "toy", tmp_path)
    path = tmp_path / "room" / "__init__.py"
    path.parent.mkdir()

    def write(text, mtime):
        path.write_text(text)
        os.utime(path, (mtime, mtime))

    write("x = 1\n", 1)
    code = {"toy.room": current_hash("toy.room")}
    write("x = 1  # one\n", 2)
    assert changed_modules(code) == []
    write("x = 2  # one\n", 3)
    assert changed_modules(code) == ["toy.room"]
    path.unlink()
    assert changed_modules(code) == ["toy.room"]
    assert current_hash("toy.room") is None


def test_stamps_name_what_is_loaded_and_leave_the_engine_out():
    code = loaded_code()
    assert code["isthmus.exceptions"] == current_hash("isthmus.exceptions")
    assert "isthmus_bench" in code
    assert not any(name.startswith("isthmus_bench.engine") for name in code)
