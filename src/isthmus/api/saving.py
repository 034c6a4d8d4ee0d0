"""Keep: a labelling or a grouping in one file, read back without running anything that the file says.

The file is a zip archive: ``isthmus.json`` (kind, format number, versions), ``texts.json`` (ids and texts, plain JSON)
and ``model.skops`` (everything else, by skops, which rebuilds objects of named types only). Types are named here; a
file that asks for any other type is refused, unless whoever loads it names that type.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from isthmus._progress import listen
from isthmus._utils import import_optional, versions, warn
from isthmus.corpus import check_output, replacing
from isthmus.corpus.limits import too_large, unpack_limit
from isthmus.exceptions import DataError, UsageError

FORMAT = 2  # raise it when an older isthmus could no longer read what this one writes
_HEADER, _TEXTS, _MODEL = "isthmus.json", "texts.json", "model.skops"
_HEADER_BYTES = 1_000_000
_SAMPLE = 100_000  # bytes that show whether a part can be compressed
_TRIED = 20  # characters that are enough to see a model work

# Rooms whose classes a file may name. Nothing in them acts when an object is made; the rooms that read, write and run
# commands are not among them.
_ROOMS = (
    "isthmus.base",
    "isthmus.pipeline",
    "isthmus._math",
    "isthmus.features",
    "isthmus.classify",
    "isthmus.clustering",
    "isthmus.choose",
    "isthmus.feedback",
    "isthmus.shift.similarity",
)
# Beyond what skops itself trusts (scikit-learn's estimators, numpy's and scipy's public types).
_TYPES = {
    "builtins.frozenset",
    "scipy.sparse._csr.csr_matrix",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csc.csc_array",
}
_WITH_UFUNCS = ("numpy", "scipy.special")


class Kind(NamedTuple):
    name: str  # as in the file's header
    what: str  # in words
    plain: tuple[str, ...]  # lists of str: kept as JSON, a hundred times faster than one node each
    can: str  # what its model must be able to do
    alike: tuple[str, ...]  # names of parts that say something about the same rows


def save_result(result, path, *, force: bool = False) -> Path:
    """Write a labelling or a grouping with its model and its texts, whole or not at all."""
    from isthmus._packing import pack_names

    check_output(path, force=force, table=False)
    skops_io = import_optional("skops.io", "A saved model")
    kind = result.KIND
    content = {field.name: getattr(result, field.name) for field in fields(result)}
    texts = {name: content.pop(name, None) for name in kind.plain}
    model = _packed(skops_io.dumps(pack_names(content)))
    _warn_of_types(_unknown(skops_io.get_untrusted_types(data=model)))
    with replacing(path, force=force) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_HEADER, json.dumps(_header(kind.name, getattr(result, "method", "guided"))))
        archive.writestr(_TEXTS, json.dumps(texts))
        archive.writestr(_MODEL, model, compress_type=zipfile.ZIP_STORED)
        _write_quick(archive, result, model, texts)
    return Path(path)


def _packed(model: bytes) -> bytes:
    """A model's archive with its parts compressed, but for those that would stay as large: noise in numbers."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(model)) as plain, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in plain.infolist():
            data = plain.read(entry)
            pays = len(zlib.compress(data[:_SAMPLE])) < 0.9 * len(data[:_SAMPLE])
            archive.writestr(entry.filename, data, zipfile.ZIP_DEFLATED if pays else zipfile.ZIP_STORED)
    return packed.getvalue()


def _write_quick(archive: zipfile.ZipFile, result: Any, model: bytes, texts: dict[str, Any]) -> None:
    """Rules that label later texts without loading the rest, where the model has them and they give its labels."""
    quick = getattr(result, "quick_model", lambda: None)()
    if quick is None:
        return
    from isthmus.api.quick import write_quick

    with zipfile.ZipFile(io.BytesIO(model)) as saved:
        write_quick(archive, quick, saved, texts)


def import_skops_quickly() -> None:
    """Import skops without its walks through other packages: for a command, which reads one file and ends.

    On import, skops lists estimators and ufuncs in order to trust them: that loads every module of scikit-learn, and
    looks for each ufunc in every module there is. Instead, those that a file names are looked at one by one
    (``_unknown``).
    """
    if "skops.io" in sys.modules:
        return
    utils = importlib.import_module("sklearn.utils")
    walked = [importlib.import_module(name) for name in _WITH_UFUNCS]
    with ExitStack() as back:
        back.enter_context(_replaced(utils, "all_estimators", lambda *args, **kwargs: []))
        for module in walked:
            back.enter_context(_replaced(module, "__dir__", list))
        import_optional("skops.io", "A saved model")


@contextmanager
def _replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    missing = object()
    before = vars(module).get(name, missing)
    setattr(module, name, value)
    try:
        yield
    finally:
        if before is missing:
            delattr(module, name)
        else:
            setattr(module, name, before)


def check_saved_file(path: str | Path) -> Path:
    """Refuse a name that cannot be a saved result, before anything that could read one is loaded."""
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}; check the name.", code="missing-file")
    if path.is_dir():
        raise DataError(
            f"{str(path)!r} is a folder; name a saved model (isthmus label … --save FILE writes one).",
            code="not-a-file",
        )
    return path


def read_quickly(path: str | Path) -> Any:
    """Rules that label later texts; None if there are none or the file is damaged (`read_saved` says how)."""
    path = check_saved_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            header = _read_header(archive)
            if header.get("kind") != "label" or header.get("format") != FORMAT:
                return None
            model = _check_sizes(archive, path)
            from isthmus.api.quick import read_quick  # loads numpy and scipy, which refusals do not wait for

            @cache
            def texts() -> Any:
                return json.loads(archive.read(_TEXTS))

            with zipfile.ZipFile(io.BytesIO(model)) as saved:
                return read_quick(archive, saved, texts)
    except MemoryError:
        raise
    except Exception:  # whatever a damaged or forged part makes its readers stumble over: the model itself is asked
        return None


def read_saved(path, result_type: Callable[[str], Any], kind: str | None = None, trusted: Iterable = ()):
    """See :func:`isthmus.load`. ``result_type`` gives the class of a kind, None if unknown."""
    path, names = check_saved_file(path), _full_names(trusted)
    skops_io = import_optional("skops.io", "A saved model")
    try:
        with zipfile.ZipFile(path) as archive:
            found = _check_header(archive, path, result_type)
            model = _check_sizes(archive, path)
            texts = json.loads(archive.read(_TEXTS))
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever a damaged archive makes its unpackers stumble over
        raise _bad(
            path, "is not a model saved by isthmus; save one with result.save(path) or isthmus label --save FILE"
        ) from error
    if kind is not None and found != kind:
        held, needed = (result_type(name).KIND.what for name in (found, kind))
        raise _bad(
            path,
            f"holds {held}, and {needed} is needed, as isthmus.{kind}(…).save(path) or isthmus {kind} --save writes it",
        )
    return _rebuild(path, result_type(found), texts, _read_model(path, model, skops_io, names), names)


def _check_sizes(archive: zipfile.ZipFile, path: Path) -> bytes:
    """The model, an archive of its own; parts that unpack to more than the limit are refused before they are read."""
    size = sum(entry.file_size for entry in archive.infolist())
    if size > unpack_limit():
        raise too_large(str(path), size)
    model = archive.read(_MODEL)  # whole: looking for parts of it in the file would read it several times
    with zipfile.ZipFile(io.BytesIO(model)) as inner:
        size += sum(entry.file_size for entry in inner.infolist())
    if size > unpack_limit():
        raise too_large(str(path), size)
    return model


def _header(kind: str, method: str) -> dict[str, Any]:
    return {"format": FORMAT, "kind": kind, "method": method, **versions(("isthmus", "scikit-learn"))}


def _read_header(archive: zipfile.ZipFile) -> Any:
    if archive.getinfo(_HEADER).file_size > _HEADER_BYTES:
        raise ValueError("header too long")
    return json.loads(archive.read(_HEADER))


def _check_header(archive: zipfile.ZipFile, path: Path, result_type: Callable[[str], Any]) -> str:
    header = _read_header(archive)
    number = header.get("format") if isinstance(header, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError("no header")
    if number > FORMAT:
        version = str(header.get("isthmus"))[:40]
        raise _bad(
            path,
            f"is of format {number}, written by isthmus {version!r}; this version reads up to format {FORMAT}. "
            "Update isthmus",
        )
    if not isinstance(header.get("kind"), str) or result_type(header["kind"]) is None:
        raise ValueError("no kind")
    return header["kind"]


def _read_model(path: Path, model: bytes, skops_io, trusted: Set[str]) -> dict[str, Any]:
    from isthmus._packing import unpack_names  # here, for looking at a file's name loads no numpy

    try:
        untrusted = skops_io.get_untrusted_types(data=model)
        strange = [name for name in _unknown(untrusted) if name not in trusted]
        if strange:
            shown = repr(strange[0][:80])
            raise _bad(
                path,
                f"asks for {shown}, which is not part of a model; do not use it, unless that is a type of your own: "
                f"then use isthmus.load(…, trusted=[{shown}])",
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            content = skops_io.load(io.BytesIO(model), trusted=untrusted)
        content = unpack_names(content) if isinstance(content, dict) else content
    except DataError:
        raise
    except Exception as error:  # whatever a damaged or forged archive makes skops stumble over
        raise _bad(path, "is damaged, or was saved with other versions of its parts") from error
    if caught:
        message = f"{path.name!r} was saved with other versions of its parts ({caught[0].message})"
        warn(" ".join(message.split())[:300], code="bad-model")
    return content


def _rebuild(path: Path, result_type: Any, texts: Any, content: Any, trusted: Set[str]):
    kind: Kind = result_type.KIND
    if not isinstance(texts, dict) or not isinstance(content, dict):
        raise _bad(path, f"does not hold {kind.what}")
    known = {field.name for field in fields(result_type)}
    plain = {name: texts[name] for name in kind.plain if name in known and name in texts}
    lists_of_text = all(
        value is None or (isinstance(value, list) and all(isinstance(text, str) for text in value))
        for value in plain.values()
    )
    model = content.get("model")  # a pipeline, a vote of several, a clustering
    known_type = type(model).__module__.startswith("isthmus.") or _full_name(type(model)) in trusted
    if not lists_of_text or not (known_type and hasattr(model, kind.can)):
        raise _bad(path, f"does not hold {kind.what}")
    try:
        result = result_type(**{name: value for name, value in content.items() if name in known}, **plain)
    except TypeError as error:
        raise _bad(path, f"lacks parts of {kind.what}; it was written by another version of isthmus") from error
    for names in kind.alike:
        sizes = {name: _size(getattr(result, name)) for name in names.split() if getattr(result, name) is not None}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
            raise _bad(path, f"is damaged: parts that belong together are of different length ({counts})")
    _try_result(path, result)
    return result


def _try_result(path: Path, result: Any) -> None:
    """Use the model once: a forged file may hold parts that do not fit each other."""
    try:
        with listen(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nobody asked about these texts
            tried = ["", *(text[:_TRIED] for text in result.texts[:1])]
            if getattr(result, "needs_vectors", False):  # it has vectors of its own texts alone
                tried = result.texts[:1]
            answers = result.predict(tried)
        sound = len(answers) == len(tried)
        if hasattr(result, "probabilities"):
            shape = (len(result.texts), len(result.classes))
            known = set(result.labels.tolist()) <= set(result.classes.tolist())
            sound = sound and known and result.probabilities.shape == shape
    except Exception as error:
        raise _bad(path, "is damaged: its model does not work") from error
    if not sound:
        raise _bad(path, "is damaged: its labels and its classes do not fit each other")


def _size(value: Any) -> int | None:
    try:
        return int(value.shape[0]) if hasattr(value, "shape") else len(value)
    except (TypeError, IndexError):
        return None


def _unknown(names: list[str]) -> list[str]:
    known = (_is_ours, _is_estimator, _is_ufunc)
    return sorted(name for name in names if name not in _TYPES and not any(is_known(name) for is_known in known))


def _warn_of_types(strange: list[str]) -> None:
    """Say what a model needs to be loaded again; refuse one that could not be loaded at all."""
    for name in strange:
        module_name, _, own_name = name.rpartition(".")
        if not hasattr(sys.modules.get(module_name), own_name):
            raise DataError(
                f"The model holds {name}, which could not be loaded again; define it at the top of a module that can "
                "be imported.",
                code="bad-model",
            )
    if strange:
        message = (
            f"The model holds {strange[0]}, which is not part of isthmus and so is not loaded on trust; load the file "
            f"with isthmus.load(…, trusted={strange!r})."
        )
        warn(message, code="untrusted-type")


def _full_names(trusted: Iterable) -> Set[str]:
    if isinstance(trusted, (str, type)) or not isinstance(trusted, Iterable):
        raise UsageError(f"trusted is {trusted!r}; give a list of types or of their full names.", code="bad-parameter")
    return frozenset(one if isinstance(one, str) else _full_name(one) for one in trusted)


def _full_name(one: Any) -> str:
    return f"{one.__module__}.{one.__qualname__}"


def _is_ours(name: str) -> bool:
    module_name = name.rpartition(".")[0]
    in_a_room = any(module_name == room or module_name.startswith(f"{room}.") for room in _ROOMS)
    return in_a_room and _find_type(name) is not None


def _is_estimator(name: str) -> bool:
    if not name.startswith("sklearn."):
        return False
    from sklearn.base import BaseEstimator  # here, for looking at a file's name loads no numpy

    found = _find_type(name)
    return found is not None and issubclass(found, BaseEstimator)


def _is_ufunc(name: str) -> bool:
    module_name, _, own_name = name.rpartition(".")
    if not any(module_name == root or module_name.startswith(f"{root}.") for root in _WITH_UFUNCS):
        return False
    numpy = importlib.import_module("numpy")  # here, for looking at a file's name loads no numpy
    return isinstance(getattr(sys.modules.get(module_name), own_name, None), numpy.ufunc)


def _find_type(name: str) -> type | None:
    module_name, _, class_name = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return None
    return found if isinstance(found, type) and found.__module__ == module_name else None


def _bad(path: Path, what: str) -> DataError:
    return DataError(f"{str(path)!r} {what}.", code="bad-model")
