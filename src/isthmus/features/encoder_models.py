"""Recommended sentence encoders, and the one function of this project that downloads files.

``encoders.json`` lists the encoders with the pinned revision, size and SHA-256 checksum of every file. A downloaded
encoder is a folder that :func:`isthmus.features.onnx_encoder.read_encoder` can read.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from isthmus._utils import import_optional
from isthmus.exceptions import DataError, UsageError


@dataclass(frozen=True)
class EncoderFiles:
    """Files and properties of a recommended encoder.

    Parameters
    ----------
    repo : str
        Repository on huggingface.co.
    revision : str
        Commit of the repository.
    license : str
    languages : str
    pooling : {"mean", "cls"}
    prefix : str
        See :class:`isthmus.features.onnx_encoder.OnnxEncoder`.
    files : dict of str to list
        Size in bytes and SHA-256 checksum of each file.
    """

    repo: str
    revision: str
    license: str
    languages: str
    pooling: str
    prefix: str
    files: dict[str, list]

    @property
    def size(self) -> int:
        """Size of all files in bytes."""
        return sum(size for size, _ in self.files.values())


ENCODERS = {
    name: EncoderFiles(**entry)
    for name, entry in json.loads(resources.files("isthmus.features").joinpath("encoders.json").read_text()).items()
}


def cache_folder() -> Path:
    """Return the folder for vectors and downloaded encoders.

    Returns
    -------
    Path
        ``ISTHMUS_CACHE``, or ``XDG_CACHE_HOME/isthmus``, or ``~/.cache/isthmus``.
    """
    base = os.environ.get("ISTHMUS_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) if base else Path(home) / "isthmus"


def encoder_folder(name: str) -> Path:
    """Return the folder in which a recommended encoder is stored after its download.

    Parameters
    ----------
    name : str
        A key of ``ENCODERS``.

    Returns
    -------
    Path
    """
    return cache_folder() / "models" / name


def is_complete(name: str, folder: Path) -> bool:
    """Return whether a folder contains the files of an encoder with their sizes.

    Parameters
    ----------
    name : str
        A key of ``ENCODERS``.
    folder : Path

    Returns
    -------
    bool
    """
    files = ENCODERS[name].files
    return all((folder / file).is_file() and (folder / file).stat().st_size == files[file][0] for file in files)


def find_encoder(name: str) -> Path:
    """Return the folder of a downloaded encoder.

    Parameters
    ----------
    name : str
        A key of ``ENCODERS``.

    Returns
    -------
    Path

    Raises
    ------
    DataError
        The encoder was not downloaded.
    """
    folder = encoder_folder(name)
    if not is_complete(name, folder):
        raise DataError(
            f"The encoder {name!r} is not on this machine; download it with: isthmus models get {name}.",
            code="missing-file",
        )
    return folder


def download_encoder(name: str, folder: Path | None = None, *, force: bool = False) -> Path:
    """Download a recommended encoder from huggingface.co and compare its files with their checksums.

    Parameters
    ----------
    name : str
        A key of ``ENCODERS``.
    folder : Path, optional
        New folder for the files; :func:`encoder_folder` if omitted.
    force : bool, default=False
        Replace the folder if it exists. Otherwise the checksums of its files are compared.

    Returns
    -------
    Path
        The folder, which appears only when every file is complete.

    Raises
    ------
    UsageError
        The name is not a key of ``ENCODERS``.
    DataError
        The folder exists and lacks files, the download failed, or a file has another checksum.
    """
    if name not in ENCODERS:
        raise UsageError(f"There is no encoder {name!r}; choose from {', '.join(ENCODERS)}.", code="unknown-name")
    encoder = ENCODERS[name]
    folder = folder or encoder_folder(name)
    if folder.exists() and not force:
        if not is_complete(name, folder):
            message = f"The folder {str(folder)!r} exists; choose another folder, or allow to replace it."
            raise DataError(message, code="output-exists")
        _check_files(name, folder)
        return folder
    hub = import_optional("huggingface_hub", "Downloading an encoder", extra="onnx")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".download-") as made:
        place = Path(made) / "files"
        # No warning for each retry of the client; its progress bars are useful.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        for file in encoder.files:
            try:
                hub.hf_hub_download(encoder.repo, file, revision=encoder.revision, local_dir=place)
            except Exception as error:  # the client has many classes of errors, also those of its HTTP library
                raise DataError(
                    f"The encoder {name!r} cannot be downloaded ({type(error).__name__}); copy "
                    f"{' and '.join(encoder.files)} of https://huggingface.co/{encoder.repo}/tree/{encoder.revision} "
                    f"into the folder {str(folder)!r}.",
                    code="missing-file",
                ) from None
        _check_files(name, place)
        shutil.rmtree(place / ".cache", ignore_errors=True)  # records of the client
        # The repository lacks these two files, in which sentence-transformers describes pooling and prefix.
        (place / "1_Pooling").mkdir()
        mode = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}[encoder.pooling]
        (place / "1_Pooling" / "config.json").write_text(json.dumps({mode: True}))
        prompts = {"prompts": {"query": encoder.prefix}, "default_prompt_name": "query"}
        (place / "config_sentence_transformers.json").write_text(json.dumps(prompts))
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(place, folder)
    return folder


def _check_files(name: str, folder: Path) -> None:
    """Compare the files of an encoder with their checksums."""
    for file, (_, expected) in ENCODERS[name].files.items():
        with open(folder / file, "rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if found != expected:
            raise DataError(
                f"The file {file} of the encoder {name!r} has the SHA-256 checksum {found} instead of {expected}; "
                "download it again, and report it if that does not help.",
                code="bad-model",
            )
