"""As if some packages were not installed, in a process of the tests and in its children.

``ISTHMUS_ABSENT`` names the modules. Whoever asks for one finds nothing, by import and by ``find_spec`` alike.
"""

import os
from importlib.machinery import PathFinder

ABSENT = frozenset(os.environ.get("ISTHMUS_ABSENT", "").split(","))
_find_spec = PathFinder.find_spec


def find_spec(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in ABSENT else _find_spec(name, path, target)


# A bound method as it was: pytest keeps it as an attribute of a class of its own, where a function would be bound anew.
PathFinder.find_spec = classmethod(find_spec)
