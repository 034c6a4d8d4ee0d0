"""The file of fitted constants: every value has a unit, an origin and a module that uses it."""

import re
from pathlib import Path

import pytest

import isthmus
from isthmus._math.fitted import fitted, fitted_groups
from isthmus.choose import VotingRule

PACKAGE = Path(isthmus.__file__).parent


@pytest.mark.parametrize("name", fitted_groups())
def test_every_group_states_origin_units_and_users(name):
    group = fitted_groups()[name]
    assert set(group) == {"fitted_by", "used_by", "unit", "values"}
    assert re.search("isthmus bench|not fitted: chosen|development", group["fitted_by"])
    assert list(group["unit"]) == list(group["values"])
    users = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    users = {path: text for path, text in users.items() if f'fitted("{name}")' in text}
    assert group["used_by"] == sorted(users)
    quoted = set(re.findall(r"""["'](\w+)["']""", "".join(users.values())))
    assert set(group["values"]) <= quoted


def test_an_unknown_group_is_an_error_that_lists_the_groups():
    with pytest.raises(KeyError, match=r"no group 'votes'.*expected_accuracy"):
        fitted("votes")


def test_modules_share_one_copy_of_the_values():
    assert fitted("selection") is fitted("selection")
    assert VotingRule().near == fitted("selection")["near"]
