"""Group: cross-guided k-means, the alignment of clusters with source groups, and plain clusterings to compare with.

The room and the public function share a name: ``isthmus.cluster(source_texts, source_groups, target_texts)`` works
because this module can be called; the call goes to :func:`isthmus.grouping.cluster`.
"""

import importlib
import sys
from types import ModuleType


class _CallableRoom(ModuleType):
    """Python binds ``isthmus.cluster`` to this module as soon as anything in it is imported."""

    def __call__(self, *args, **kwargs):
        # By name, because the function lives above this room: it joins a vectoriser with the method.
        return importlib.import_module("isthmus.grouping").cluster(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableRoom
cluster = sys.modules[__name__]  # what ``from isthmus.cluster import cluster`` and the list of public names find
