"""As if some packages were not installed, in a process of the tests and in its children.

``ISTHMUS_ABSENT`` names the modules. Whoever asks for one finds nothing, by import and by ``find_spec`` alike.
"""

import os
from importlib.machinery import PathFinder

ABSENT = frozenset(os.environ.get("ISTHMUS_ABSENT", "").split(","))
_find_spec = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in ABSENT else _find_spec(name, path, target)


PathFinder.find_spec = staticmethod(find_spec)
