"""Loops are compiled where nothing can be kept, too."""

import numba.core.caching

from isthmus._math.compiled import compiled


def test_without_a_folder_to_keep_it_in_a_loop_is_compiled_all_the_same(monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])

    @compiled(fastmath=True)
    def double(x):
        return 2 * x

    assert double(3) == 6
