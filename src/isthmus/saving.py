"""Write a result into one file, and read it without running code from the file.

The file is a zip archive. ``isthmus.json`` contains the format number, the kind, the versions and the result as nested
values; each array is an ``.npy`` entry. The result consists of dataclasses of arrays, numbers, texts, lists and dicts.
A name of a class in the file is looked up only in ``TYPES``.
"""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from isthmus._arguments import checks_arguments
from isthmus._progress import listen
from isthmus._utils import versions
from isthmus.corpus import check_output, replacing
from isthmus.corpus.limits import too_large, unpack_limit
from isthmus.exceptions import DataError

FORMAT = 4  # increased when versions cannot read each other's files
_HEADER = "isthmus.json"
_HEAD, _SHRINKS = 1 << 16, 0.8  # bytes of an array by which its compression is judged, and the share that is left
TRIED = 20  # characters of a text on which a loaded model is tried
_DEEPEST = 100  # nested values; a result has about 15

# The classes that a file may contain: dataclasses and named tuples without side effects, by module.
TYPES = {
    "isthmus._math.confidence": ("AccuracyEstimate",),
    "isthmus.api.cluster": ("GroupingResult",),
    "isthmus.api.result": ("LabelResult",),
    "isthmus.choose.checking": ("LabelCheck",),
    "isthmus.choose.guaranteed": ("Belief", "Guarantee", "Ladder", "Reading"),
    "isthmus.choose.groups": ("NovelGroups",),
    "isthmus.choose.model": ("LabelModel", "LexiconMember", "Member"),
    "isthmus.choose.stages.apply": (
        "AddedClasses", "Answers", "LabelShift", "Lexicon", "Margin", "NamesShare", "Rename", "Temperature",
    ),
    "isthmus.classify.rules": (
        "CentroidRule", "ClusterMapRule", "CoClusterRule", "CoClusterTables", "DualRule", "GaussianDualRule",
        "KernelBend", "LabellerRule", "LinearRule", "NamesRule", "NeighbourRule", "ProjectionRule", "StringRule",
    ),
    "isthmus.classify.strings.kernels": ("CallableKernel", "CosineKernel", "KernelRule"),
    "isthmus.clustering.alignment": ("Match",),
    "isthmus.clustering.fitted": ("FittedClusters",),
    "isthmus.clustering.guidance": ("GuidanceEstimate",),
    "isthmus.features.embeddings": ("VectorTable",),
    "isthmus.features.vector_rows": ("VectorRows",),
    "isthmus.features.term_rows": ("LatentRows", "SideBySide", "TermRows", "UnitRows", "Vocabulary"),
    "isthmus.features.tokens": ("WordAnalyzer",),
    "isthmus.feedback.answers": ("Answers",),
    "isthmus.feedback.correction": ("Correction",),
    "isthmus.feedback.labelling": ("Learned",),
    "isthmus.feedback.self_training": ("WordModel",),
    "isthmus.feedback.views": ("DocumentViews",),
    "isthmus.shift.similarity": ("CrossSimilarity",),
}  # fmt: skip
_MODULES = {f"{module.rpartition('.')[2]}.{name}": module for module, names in TYPES.items() for name in names}
_NAMES = {name.rpartition(".")[2] for name in _MODULES}
# Result class of each kind, and the kind with its article for messages.
_KINDS = {"label": ("result.LabelResult", "a labelling"), "cluster": ("cluster.GroupingResult", "a grouping")}
_PLAIN = (str, int, float, bool, type(None))
# Python types of annotations that are checked when a file is read.
_CHECKED: dict[str, Any] = {
    "str": str, "int": int, "float": (int, float), "bool": bool, "list": list, "tuple": tuple, "dict": dict,
    "None": type(None), "frozenset": frozenset,
}  # fmt: skip


def pack(value: Any, arrays: dict[int, tuple[str, Any]]) -> Any:
    """Return a value as JSON writes it; arrays are collected.

    Every JSON object has one key, which names the type of the value.

    Parameters
    ----------
    value : object
    arrays : dict of int to tuple
        Gets the name of the entry and the array, by the identity of the array.

    Returns
    -------
    object

    Raises
    ------
    DataError
        With code ``bad-model`` for a value that a file cannot contain.
    """
    import numpy as np
    import scipy.sparse as sp

    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return value if all(type(one) in _PLAIN for one in value) else [pack(one, arrays) for one in value]
    if isinstance(value, np.generic):
        return pack(value.item(), arrays)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": arrays.setdefault(id(value), (f"{len(arrays)}.npy", value))[0]}
    if isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1:
        return {"objects": pack(value.tolist(), arrays)}
    if sp.issparse(value) and value.format == "csr":
        return {"csr": [pack(part, arrays) for part in (value.data, value.indices, value.indptr)] + [*value.shape]}
    if kind is tuple:
        return {"tuple": pack(list(value), arrays)}
    if isinstance(value, frozenset):
        return {"frozenset": sorted(value)}
    if isinstance(value, Mapping):
        return {"dict": [[pack(key, arrays), pack(one, arrays)] for key, one in value.items()]}
    name = f"{kind.__module__.rpartition('.')[2]}.{kind.__qualname__}"
    if _MODULES.get(name) == kind.__module__:
        return {name: {field: pack(getattr(value, field), arrays) for field in _fields(kind)}}
    own = getattr(value, "estimator", getattr(value, "transformer", value))
    shown = getattr(own, "__name__", type(own).__name__)
    raise DataError(
        f"The result contains {shown}, which a saved file cannot contain, because loading must not run code; store the "
        "result with joblib.dump(result, path) instead.",
        code="bad-model",
    )


def unpack(node: Any, arrays: Mapping[str, Any], depth: int = 0) -> Any:
    """Return the value of a JSON node; see :func:`pack`.

    Parameters
    ----------
    node : object
    arrays : mapping of str to ndarray
    depth : int
        Number of enclosing nodes.

    Returns
    -------
    object

    Raises
    ------
    ValueError, TypeError, KeyError
        For a node that :func:`pack` does not write.
    """
    if isinstance(node, _PLAIN):
        return node
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(node, list):
        if all(type(one) in _PLAIN for one in node):
            return node
        return [unpack(one, arrays, depth + 1) for one in node]
    ((kind, content),) = node.items()
    if kind == "array":
        return arrays[content]
    if kind in _MODULES:
        return _build(kind, {name: unpack(one, arrays, depth + 1) for name, one in content.items()})
    values = unpack(content, arrays, depth + 1)
    if kind == "tuple":
        return tuple(values)
    if kind == "frozenset":
        return frozenset(values)
    if kind == "dict":
        return dict(values)
    if kind == "objects":
        import numpy as np

        found = np.empty(len(values), dtype=object)
        found[:] = values
        return found
    if kind == "csr":
        import scipy.sparse as sp

        *parts, n_rows, n_columns = values
        matrix = sp.csr_matrix(tuple(parts), shape=(n_rows, n_columns))
        matrix.check_format(full_check=True)
        return matrix
    raise ValueError(f"unknown type {kind[:80]}")


def _fields(kind: type) -> list[str]:
    if not is_dataclass(kind):
        return list(kind._fields)  # type: ignore[attr-defined]  # a named tuple
    kept = [field.name for field in fields(kind) if field.init and field.metadata.get("saved", True)]
    return [*kept, *getattr(kind, "SAVED", ())]


def _build(name: str, values: dict[str, Any]) -> Any:
    """Return an instance of a class of the table; refuse fields of other names or types."""
    kind = getattr(import_module(_MODULES[name]), name.rpartition(".")[2])
    hints = {field.name: str(field.type) for field in fields(kind)} if is_dataclass(kind) else {}
    for field in set(values) - set(_fields(kind)):
        raise ValueError(f"{name} has no field {field[:80]}")
    for field, value in values.items():
        heads = re.sub(r"\[.*\]", "", hints.get(field, "Any")).split("|")
        if not any(_fits(value, head.strip()) for head in heads):
            raise TypeError(f"{field} of {name} is {type(value).__name__}")
    computed = {field: values.pop(field) for field in getattr(kind, "SAVED", ()) if field in values}
    found = kind(**values)
    for field, value in computed.items():  # cached properties
        vars(found)[field] = value
    return found


def _fits(value: Any, annotation: str) -> bool:
    """Return whether a value has the type of an annotation; annotations of other types fit all values."""
    if annotation == "np.ndarray":
        return type(value).__name__ == "ndarray"
    if annotation in _NAMES:
        return type(value).__name__ == annotation
    return isinstance(value, _CHECKED.get(annotation, object))


def save_result(result: Any, path: Any, kind: str, *, force: bool = False) -> Path:
    """Save a result with its model and texts atomically.

    Parameters
    ----------
    result : LabelResult or GroupingResult
    path : path
    kind : {"label", "cluster"}
    force : bool, default=False
        Replace an existing file.

    Returns
    -------
    Path

    Raises
    ------
    DataError
        With code ``bad-model`` if a method of the result is a user's own estimator.
    """
    import numpy as np

    check_output(path, force=force, table=False)
    arrays: dict[int, tuple[str, Any]] = {}
    header = {"format": FORMAT, "kind": kind, **versions(("isthmus",)), "result": pack(result, arrays)}
    packing: Any = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}  # higher levels save 2% and take longer
    with replacing(path, force=force) as out, zipfile.ZipFile(out, "w", **packing) as archive:
        archive.writestr(_HEADER, json.dumps(header))
        for name, array in arrays.values():
            stream = io.BytesIO()
            np.save(stream, array, allow_pickle=False)
            # Most arrays of floating-point numbers hardly shrink, and unpacking them would take a second.
            head = stream.getvalue()[:_HEAD]
            packs = len(zlib.compress(head, 1)) < _SHRINKS * len(head)
            archive.writestr(name, stream.getvalue(), zipfile.ZIP_DEFLATED if packs else zipfile.ZIP_STORED)
    return Path(path)


def check_saved_file(path: str | PathLike) -> Path:
    """Refuse a missing file or a folder before the packages that read a file are imported.

    Parameters
    ----------
    path : str or path-like

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


@checks_arguments
def load(path: str | PathLike, kind: str | None = None) -> Any:
    """Load a result saved with ``result.save(path)``, ``isthmus label --save`` or ``isthmus cluster --save``.

    Loading runs no code from the file, so a file from elsewhere is safe to load.

    Parameters
    ----------
    path : path
    kind : {"label", "cluster"}, optional
        Refuse a file of the other kind.

    Returns
    -------
    LabelResult or GroupingResult
        The result as it was saved; ``predict(texts)`` labels or groups later documents.

    Raises
    ------
    DataError
        With code ``bad-model`` if the file is damaged, has another format or is not a saved result.

    See Also
    --------
    isthmus.api.result.LabelResult.save : Writes what this reads.
    isthmus.api.cluster.GroupingResult.save : The same for groupings.

    Examples
    --------
    >>> import tempfile
    >>> import isthmus
    >>> source = ["kind staff", "great bike", "polite staff", "fast bike"]
    >>> result = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = isthmus.load(result.save(f"{folder}/dealer.isthmus"))
    >>> loaded.predict(["the bike is fast"]).tolist()
    ['product']
    """
    path = check_saved_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > unpack_limit():
                raise too_large(str(path), size)
            header = json.loads(archive.read(_HEADER))
            found = _check_header(header, path)
            if kind is not None and found != kind:
                held, needed = _KINDS[found][1], _KINDS[kind][1]
                raise _bad(
                    path,
                    f"holds {held}, and {needed} is needed, as isthmus.{kind}(…).save(path) or isthmus {kind} --save "
                    "writes it",
                )
            arrays = {name: archive.read(name) for name in archive.namelist() if name.endswith(".npy")}
    except (DataError, MemoryError):
        raise
    except Exception as error:  # unpacking a damaged archive can raise almost anything
        raise _bad(
            path, "is not a model saved by isthmus; save one with result.save(path) or isthmus label --save FILE"
        ) from error
    try:
        if list(header["result"]) != [_KINDS[found][0]]:
            raise ValueError("another type of result")
        with listen(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user did not give the texts on which the model is tried
            result = unpack(header["result"], {name: _read_array(data) for name, data in arrays.items()})
            result.check_saved()
    except DataError as error:
        # A model whose package is missing, or whose encoder has changed, is not damaged.
        raise error if error.code != "bad-model" else _bad(path, f"cannot be used: {error}".rstrip(".")) from error
    except Exception as error:  # parts of a forged file do not fit each other
        raise _bad(path, "is damaged: the model cannot predict") from error
    return result


def check_lengths(result: Any, names: str) -> None:
    """Refuse a result from a forged file if fields that belong together have different lengths.

    Parameters
    ----------
    result : LabelResult or GroupingResult
    names : str
        Names of the fields, separated by blanks; fields that are None are skipped.

    Raises
    ------
    ValueError
    """
    values = {name: getattr(result, name) for name in names.split() if getattr(result, name) is not None}
    sizes = {value.shape[0] if hasattr(value, "shape") else len(value) for value in values.values()}
    if len(sizes) > 1:
        raise ValueError(f"{names} have different lengths")


def _check_header(header: Any, path: Path) -> str:
    """Return the kind of the result, or refuse a file of another format."""
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
    if header["kind"] not in _KINDS:
        raise ValueError("no kind")
    return header["kind"]


def _read_array(data: bytes) -> Any:
    """Return the array of an .npy entry; the size that it claims must be that of the entry."""
    import numpy as np

    stream = io.BytesIO(data)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_column, dtype = read[np.lib.format.read_magic(stream)](stream)
    if dtype.kind not in "biufU":
        raise ValueError(f"array of {dtype}")
    if min(shape, default=0) < 0:
        raise ValueError(f"array of shape {shape}")
    values = np.frombuffer(bytearray(data), dtype=dtype, offset=stream.tell())
    return values.reshape(shape, order="F" if by_column else "C")


def _bad(path: Path, what: str) -> DataError:
    return DataError(f"{str(path)!r} {what}.", code="bad-model")
