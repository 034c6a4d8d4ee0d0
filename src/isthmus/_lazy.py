"""Public names of a package that load their module on first use, and foreign modules that wait until they are used."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_LOCK = threading.Lock()


def lazy_names(
    package: str, names: Mapping[str, str], parts: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public ``names`` live in other modules.

    ``parts``: modules of the package that are found without being imported first.
    """

    def get(name: str) -> Any:
        if name in parts:
            return importlib.import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(names[name]), name)
        vars(importlib.import_module(package))[name] = value
        return value

    return get, lambda: sorted([*names, *parts])


def defer(name: str) -> None:
    """Let a module wait for its first use, for a process of our own: others import it and call none of it.

    scikit-learn imports ``scipy.stats`` everywhere, which takes longer to load than all that a command uses.
    ``from module import function`` gets a stand-in.
    """
    if name not in sys.modules:
        sys.modules[name] = _Deferred(name)
        parent, _, own_name = name.rpartition(".")
        if parent in sys.modules:  # as importing it would have done
            setattr(sys.modules[parent], own_name, sys.modules[name])


@contextmanager
def hidden(name: str) -> Iterator[None]:
    """Hide a module from imports inside the block that would load it and not use it."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]  # as the import system documents it
    try:
        yield
    finally:
        del sys.modules[name]


class _Deferred(ModuleType):
    """Stands for a module until something of it is used."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__path__ = _Path(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks of a module
            raise AttributeError(name)
        return _Part(self, name)

    def load(self) -> ModuleType:
        with _LOCK:  # the module itself is loaded outside: the import system has locks of its own
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)


class _Path(list):
    """Where submodules of a deferred module lie: asked for one of them, the module is loaded."""

    def __init__(self, module: _Deferred):
        super().__init__()
        self._module = module

    def __iter__(self):
        return iter(self._module.load().__path__)


class _Part:
    """Stands for a function, or an object with methods, of a deferred module."""

    def __init__(self, module: _Deferred, name: str):
        self._place = module, name

    def _get(self) -> Any:
        module, name = self._place
        return getattr(module.load(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._get()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._get(), name)
