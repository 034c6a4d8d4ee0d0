"""Save a result of labelling or clustering in one file, and load it without running code from the file.

The file is a zip archive: ``isthmus.json`` (kind, format number, versions), ``texts.json`` (texts and names as JSON)
and ``model.skops`` (everything else, written by skops, which rebuilds only objects of known types). This module lists
the known types; a file with any other type is refused, unless the caller of :func:`isthmus.load` names that type.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterable, Set
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from isthmus._progress import listen
from isthmus._utils import import_optional, versions, warn
from isthmus.corpus import check_output, replacing
from isthmus.corpus.limits import too_large, unpack_limit
from isthmus.exceptions import DataError, UsageError

FORMAT = 3  # increased when versions cannot read each other's files
_HEADER, _TEXTS, _MODEL = "isthmus.json", "texts.json", "model.skops"
_ARRAYS = "arrays"  # entry of the texts with the arrays of names
_HEADER_BYTES = 1_000_000
_TRIED = 20  # characters of a text on which a loaded model is tried

# Packages whose classes a file may contain: constructing such an object reads, writes and runs nothing.
_PACKAGES = (
    "isthmus.base",
    "isthmus.pipeline",
    "isthmus._math",
    "isthmus.features",
    "isthmus.classify",
    "isthmus.clustering",
    "isthmus.papers",
    "isthmus.choose",
    "isthmus.feedback",
    "isthmus.shift.similarity",
)
# In addition to the types that skops trusts (scikit-learn's estimators, numpy's and scipy's public types).
_TYPES = {
    "builtins.frozenset",
    "scipy.sparse._csr.csr_matrix",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csc.csc_array",
}


class Kind(NamedTuple):
    """Description of a kind of result: the parts of its file and the checks on loading."""

    name: str  # kind in the header of the file
    what: str  # the kind with its article, for messages
    plain: tuple[str, ...]  # lists of str: written as JSON, because skops is slow with many small objects
    can: str  # attribute that its model must have
    alike: tuple[str, ...]  # each entry names fields with the same number of rows


def save_result(result, path, *, force: bool = False) -> Path:
    """Save a result with its model and texts atomically.

    Parameters
    ----------
    result : LabelResult or GroupingResult
    path : path
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    Path
    """
    check_output(path, force=force, table=False)
    skops_io = import_optional("skops.io", "A saved model")
    kind = result.KIND
    content = {field.name: getattr(result, field.name) for field in fields(result)}
    texts = {name: content.pop(name, None) for name in kind.plain}
    arrays = {name: value.tolist() for name, value in content.items() if _is_names(value)}
    content = {name: value for name, value in content.items() if name not in arrays}
    model = skops_io.dumps(content, compression=zipfile.ZIP_DEFLATED)
    _warn_of_types(_unknown(skops_io.get_untrusted_types(data=model)))
    with replacing(path, force=force) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_HEADER, json.dumps(_header(kind.name, getattr(result, "method", "guided"))))
        archive.writestr(_TEXTS, json.dumps({**texts, _ARRAYS: arrays}))
        archive.writestr(_MODEL, model, compress_type=zipfile.ZIP_STORED)
    return Path(path)


def _is_names(value: Any) -> bool:
    """Return whether a value is an object array of str and None, which JSON restores without loss."""
    if getattr(getattr(value, "dtype", None), "kind", "") != "O" or value.ndim != 1:
        return False
    return all(name is None or type(name) is str for name in value)


def check_saved_file(path: str | Path) -> Path:
    """Refuse a missing file or a folder before the packages that read a file are imported.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Path

    Raises
    ------
    DataError
        With code ``missing-file`` or ``not-a-file``.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"There is no file {str(path)!r}; check the name.", code="missing-file")
    if path.is_dir():
        raise DataError(
            f"{str(path)!r} is a folder; name a saved model (isthmus label … --save FILE writes one).",
            code="not-a-file",
        )
    return path


def read_saved(path, result_type: Callable[[str], Any], kind: str | None = None, trusted: Iterable = ()):
    """Read a saved result; see :func:`isthmus.load`.

    Parameters
    ----------
    path : path
    result_type : callable
        Takes the name of a kind and returns the class of its results, or None for an unknown kind.
    kind : str, optional
        Refuse files of other kinds.
    trusted : iterable of types or str, default=()
        More types that the file may contain.

    Returns
    -------
    LabelResult or GroupingResult

    Raises
    ------
    DataError
        With code ``bad-model`` if the file is damaged, of another format or kind, or contains other types.
    """
    path, names = check_saved_file(path), _full_names(trusted)
    try:
        with zipfile.ZipFile(path) as archive:
            found = _check_header(archive, path, result_type)
            model = _check_sizes(archive, path)
            texts = json.loads(archive.read(_TEXTS))
    except (DataError, MemoryError):
        raise
    except Exception as error:  # unpacking a damaged archive can raise almost anything
        raise _bad(
            path, "is not a model saved by isthmus; save one with result.save(path) or isthmus label --save FILE"
        ) from error
    if kind is not None and found != kind:
        held, needed = (result_type(name).KIND.what for name in (found, kind))
        raise _bad(
            path,
            f"holds {held}, and {needed} is needed, as isthmus.{kind}(…).save(path) or isthmus {kind} --save writes it",
        )
    return _rebuild(path, result_type(found), texts, _read_model(path, model, names), names)


def _check_sizes(archive: zipfile.ZipFile, path: Path) -> bytes:
    """Return the model, which is an archive itself; refuse parts that unpack to more than the limit."""
    size = sum(entry.file_size for entry in archive.infolist())
    if size > unpack_limit():
        raise too_large(str(path), size)
    model = archive.read(_MODEL)  # read as a whole: seeking parts in the outer archive would unpack it several times
    with zipfile.ZipFile(io.BytesIO(model)) as inner:
        size += sum(entry.file_size for entry in inner.infolist())
    if size > unpack_limit():
        raise too_large(str(path), size)
    return model


def _header(kind: str, method: str) -> dict[str, Any]:
    return {"format": FORMAT, "kind": kind, "method": method, **versions(("isthmus", "scikit-learn"))}


def _check_header(archive: zipfile.ZipFile, path: Path, result_type: Callable[[str], Any]) -> str:
    """Return the kind of the result, or refuse a file of another format."""
    if archive.getinfo(_HEADER).file_size > _HEADER_BYTES:
        raise ValueError("header too long")
    header = json.loads(archive.read(_HEADER))
    number = header.get("format") if isinstance(header, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError("no header")
    if number != FORMAT:
        advice = "Update isthmus" if number > FORMAT else "label or group the texts again and save the new result"
        raise _bad(
            path,
            f"is of format {number}, written by isthmus {str(header.get('isthmus'))[:40]!r}; this version reads "
            f"format {FORMAT}. {advice}",
        )
    if result_type(header["kind"]) is None:
        raise ValueError("no kind")
    return header["kind"]


def _read_model(path: Path, model: bytes, trusted: Set[str]) -> dict[str, Any]:
    skops_io = import_optional("skops.io", "A saved model")
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
    except DataError:
        raise
    except Exception as error:  # a damaged or forged archive can make skops raise almost anything
        raise _bad(path, "is damaged, or was saved with other versions of its parts") from error
    if caught:
        message = f"{path.name!r} was saved with other versions of its parts ({caught[0].message})"
        warn(" ".join(message.split())[:300], code="bad-model")
    return content


def _rebuild(path: Path, result_type: Any, texts: Any, content: Any, trusted: Set[str]):
    kind: Kind = result_type.KIND
    if not isinstance(texts, dict) or not isinstance(content, dict):
        raise _bad(path, f"does not hold {kind.what}")
    arrays = texts.pop(_ARRAYS, {})
    sound = all(
        value is None or (isinstance(value, list) and all(isinstance(text, str) for text in value))
        for value in texts.values()
    )
    model = content.get("model")  # a pipeline, a vote of several methods, or a clustering
    known_type = type(model).__module__.startswith("isthmus.") or _full_name(type(model)) in trusted
    if not sound or not isinstance(arrays, dict) or not (known_type and hasattr(model, kind.can)):
        raise _bad(path, f"does not hold {kind.what}")
    import numpy as np  # here, because checking the name of a file must not load numpy

    restored = {name: np.array(value, dtype=object) for name, value in arrays.items()}
    try:
        result = result_type(**content, **texts, **restored)
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
    """Predict once, because the parts of a forged file may not fit each other."""
    try:
        with listen(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user did not give these texts
            tried = ["", *(text[:_TRIED] for text in result.texts[:1])]
            if getattr(result, "needs_vectors", False):  # the model only has the vectors of the fitted texts
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
    return sorted(name for name in names if name not in _TYPES and not _is_ours(name))


def _warn_of_types(strange: list[str]) -> None:
    """Warn of types that the loader does not trust; refuse types that cannot be imported again."""
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
    in_package = any(module_name == package or module_name.startswith(f"{package}.") for package in _PACKAGES)
    return in_package and _find_type(name) is not None


def _find_type(name: str) -> type | None:
    module_name, _, class_name = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ImportError:
        return None
    return found if isinstance(found, type) and found.__module__ == module_name else None


def _bad(path: Path, what: str) -> DataError:
    return DataError(f"{str(path)!r} {what}.", code="bad-model")
