"""List the files of an input folder, and refuse symbolic links that lead out of it."""

from __future__ import annotations

import os
from pathlib import Path

from isthmus.corpus.decode import shown_name
from isthmus.exceptions import DataError


def list_files(folder: str | os.PathLike) -> list[Path]:
    """Return the files of a folder and of its sub-folders, sorted by path.

    Hidden files and folders are ignored. A link to a file of the same folder counts as a file. Links to folders are
    not followed, because files inside the folder are already listed in their own sub-folder.

    Parameters
    ----------
    folder : path
        The folder, or a link to it.

    Returns
    -------
    list of Path

    Raises
    ------
    DataError
        ``outside-folder`` if a link leads out of the folder, ``missing-file`` if a link leads to no file.
    """
    folder = Path(folder)
    # The order of a file system differs between machines; sorting makes results repeatable.
    paths = sorted(
        path for path in folder.rglob("*") if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    for path in paths:
        check_link(path, folder)
    return [path for path in paths if path.is_file()]


def check_link(path: Path, folder: Path) -> None:
    """Refuse a path below a folder if it is, or passes through, a link that leads out of the folder or to nothing.

    Parameters
    ----------
    path : Path
        A path that begins with ``folder``.
    folder : Path
        The folder that the user named.

    Raises
    ------
    DataError
        ``outside-folder`` or ``missing-file``.
    """
    relative = path.relative_to(folder)
    if not any((folder / Path(*relative.parts[:depth])).is_symlink() for depth in range(1, len(relative.parts) + 1)):
        return
    name = shown_name(str(relative))
    # The target of the whole chain of links decides; realpath does not fail on circles.
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise DataError(
            f"The link {name!r} leads out of the folder {str(folder)!r}, so it is not followed; copy its content into "
            "the folder, or remove the link.",
            code="outside-folder",
        )
    if not path.exists():
        raise DataError(
            f"The link {name!r} in the folder {str(folder)!r} leads to no file; remove or repair it.",
            code="missing-file",
        )
