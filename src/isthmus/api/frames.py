"""Accept data frames instead of lists of texts and labels, and return results as the same kind of frame."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from os import PathLike
from typing import Any

from isthmus._utils import import_optional
from isthmus.corpus.frames import convert_frame, extend_frame, holds_categories, is_frame, make_frame, read_frame
from isthmus.corpus.write import only_columns
from isthmus.exceptions import UsageError

_COLUMNS = ("text", "label", "id")


class FrameResult:
    """Methods of a result that return a data frame: the frame of the target with more columns, or a new one."""

    _frame: Any = None  # the frame of the target, if frames were given
    _categories: tuple[str, ...] = ()

    def columns(self) -> dict[str, list]:
        """Return the result as columns.

        Returns
        -------
        dict of str to list
        """
        raise NotImplementedError

    def to_frame(self, add: str | Sequence[str] = ()) -> Any:
        """Return the frame of the target with more columns, or a new polars frame if no frames were given.

        Parameters
        ----------
        add : str or sequence of str, default=()
            Columns to add, such as "label"; all if omitted.

        Returns
        -------
        data frame

        Raises
        ------
        UsageError
            With code ``unknown-column`` if ``add`` names another column.
        """
        columns = self.columns()
        texts = {"text": columns.pop("text")}
        wanted = (add,) if isinstance(add, str) else tuple(add)
        unknown = [name for name in wanted if name not in columns]
        if unknown:
            raise UsageError(f"add={unknown[0]!r}; use one of {', '.join(columns)}.", code="unknown-column")
        added = only_columns(columns, wanted)
        if self._frame is None:
            return import_optional("polars", "to_frame()").DataFrame(texts | added)
        return extend_frame(self._frame, added, self._categories)

    def to_pandas(self, add: str | Sequence[str] = ()) -> Any:
        """Return :meth:`to_frame` as a pandas data frame.

        Parameters
        ----------
        add : str or sequence of str, default=()
            Columns to add; all if omitted.

        Returns
        -------
        pandas.DataFrame
        """
        return convert_frame(self.to_frame(add), "pandas")

    def to_polars(self, add: str | Sequence[str] = ()) -> Any:
        """Return :meth:`to_frame` as a polars data frame.

        Parameters
        ----------
        add : str or sequence of str, default=()
            Columns to add; all if omitted.

        Returns
        -------
        polars.DataFrame
        """
        return convert_frame(self.to_frame(add), "polars")

    def _table(self, columns: dict[str, list]) -> Any:
        return columns if self._frame is None else make_frame(columns, self._frame)

    def _like(self, other: FrameResult) -> Any:
        self._frame, self._categories = other._frame, other._categories
        return self


def takes_frames(function: Callable) -> Callable:
    """Let a function of source texts, labels and target texts take two data frames instead.

    For example, ``function(source_frame, target_frame, text="comment", label="topic", id="nr")``. Columns that are not
    named are guessed as in files. The source may be None if the function allows it.

    Parameters
    ----------
    function : callable

    Returns
    -------
    callable
        The function with the additional parameters ``text``, ``label`` and ``id``.
    """

    @wraps(function)
    def taking(*given: Any, text: Any = None, label: str | None = None, id: str | None = None, **options: Any) -> Any:
        named = [options[name] for name in ("source_texts", "target_texts") if name in options]
        if not any(map(is_frame, (*given[:3], *named))):
            if text is not None or label is not None or id is not None:
                raise UsageError(
                    "text=, label= and id= name columns of data frames, and none was given; pass two frames, or leave "
                    "them out.",
                    code="bad-parameter",
                )
            if len(given) == 2 and not options.keys() & {"target_texts", "source_texts"}:
                _refuse_names_of_files(given, function.__name__)
            return function(*given, **options)
        source, target, rest = _two_frames(given, options)
        documents = read_frame(target, "target", text=text, id=id, want_labels=False)
        texts, labels = None, None
        if source is not None:
            labelled = read_frame(source, "source", text=text, label=label, want_labels=True)
            texts, labels = labelled.texts, labelled.labels
        result = function(texts, labels, documents.texts, *rest, **options)
        if isinstance(result, FrameResult):
            result._frame = target
            result._categories = ("label",) if source is not None and holds_categories(source, label) else ()
        if id is not None and hasattr(result, "ids"):
            result.ids = documents.ids
        return result

    signature = inspect.signature(function)
    columns = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _COLUMNS]
    taking.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *columns])  # type: ignore[attr-defined]
    return taking


def _refuse_names_of_files(given: Sequence, name: str) -> None:
    for value in given:
        if isinstance(value, (str, PathLike)):
            raise UsageError(
                f"{str(value)[:60]!r} was given, and texts are expected; read a file with "
                f"isthmus.corpus.read_collection, pass data frames, or run isthmus {name} SOURCE TARGET in a terminal.",
                code="bad-parameter",
            )


def _two_frames(given: tuple, options: dict[str, Any]) -> tuple[Any, Any, tuple]:
    """Return the frame of the source or None, the frame of the target, and the other arguments."""
    last = max((i for i, value in enumerate(given[:3]) if is_frame(value)), default=-1)
    front = [value for value in given[: last + 1] if value is not None]
    front += [options.pop(name) for name in ("source_texts", "target_texts") if name in options]
    behind = given[last + 1 : last + 2]
    lists = [value for value in behind if isinstance(value, (list, tuple)) or hasattr(value, "shape")]
    if len(front) > 2 or not all(map(is_frame, front)) or lists:
        raise UsageError(
            "Data frames and other collections were given together; pass a frame with labels and a frame to be "
            "labelled, and name their columns with text= and label=.",
            code="bad-parameter",
        )
    source = front[0] if len(front) == 2 else None
    return source, front[-1], given[last + 1 :]
