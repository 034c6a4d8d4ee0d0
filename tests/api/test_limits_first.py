"""Limits come before the work: what was read or unpacked when the refusal comes."""

import io
import json
import zipfile

import pytest

import isthmus
from isthmus.exceptions import DataError

pytest.importorskip("skops.io")


@pytest.fixture
def unpacked(monkeypatch):
    """Bytes that came out of archives."""
    sizes = []
    read = zipfile.ZipExtFile.read

    def counting(self, n=-1):
        data = read(self, n)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counting)
    return sizes


@pytest.mark.parametrize(
    ("texts", "model"), [(3_000_000, 0), (0, 3_000_000), (600_000, 600_000)], ids=["texts", "model", "together"]
)
def test_a_saved_file_is_refused_before_it_is_unpacked(tmp_path, monkeypatch, unpacked, texts, model):
    source = ["kind staff", "great bike", "polite staff", "fast bike"]
    path = isthmus.label(source, ["staff", "product"] * 2, ["rude staff", "slow bike"], method="nbc").save(
        tmp_path / "m"
    )
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    if texts:
        parts["texts.json"] = json.dumps({"filling": "x" * texts}).encode()
    if model:  # an archive of its own: small as a part, large when it is unpacked
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", "x" * model)
        parts["model.skops"] = inner.getvalue()
    bomb = tmp_path / "bomb"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in parts.items():
            archive.writestr(key, value)
    monkeypatch.setenv("ISTHMUS_MAX_UNPACKED", "1000000")
    del unpacked[:]
    with pytest.raises(DataError) as caught:
        isthmus.load(bomb)
    assert caught.value.code == "too-large"
    assert sum(unpacked) < 100_000
