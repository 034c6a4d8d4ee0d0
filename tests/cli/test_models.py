"""``isthmus models list | get``: the table, downloads from a local server, checksums, refusals."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from isthmus.cli.app import run_command
from isthmus.exceptions import DataError
from isthmus.features import encoder_models
from isthmus.features.embeddings import resolve_embedder
from isthmus.features.onnx_encoder import read_encoder

FILES = {"onnx/model_quantized.onnx": b"a model", "tokenizer.json": b"{}"}
NAME = "e5-small-v2"


@pytest.fixture(autouse=True)
def small_files(tmp_path, monkeypatch):
    """Pin the checksums of small files in the place of the real ones."""
    monkeypatch.setenv("ISTHMUS_CACHE", str(tmp_path / "cache"))
    files = {file: [len(content), hashlib.sha256(content).hexdigest()] for file, content in FILES.items()}
    changed = {**vars(encoder_models.ENCODERS[NAME]), "files": files}
    monkeypatch.setitem(encoder_models.ENCODERS, NAME, encoder_models.EncoderFiles(**changed))


@pytest.fixture
def server(monkeypatch):
    """Serve the files as the hub does; contents can be replaced."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="extra onnx is not installed")
    entry, contents, asked = encoder_models.ENCODERS[NAME], dict(FILES), []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self):
            content = contents.get(self.path.partition(f"/{entry.revision}/")[2])
            if content is None:  # the client also asks for things other than files
                self.send_error(404)
                return b""
            asked.append(self.path)
            self.send_response(200)
            for key, value in {
                "X-Repo-Commit": entry.revision,
                "ETag": f'"{hashlib.sha1(content).hexdigest()}"',
                "Content-Length": str(len(content)),
            }.items():
                self.send_header(key, value)
            self.end_headers()
            return content

        def do_GET(self):
            self.wfile.write(self.do_HEAD())

        def log_message(self, *line):
            pass

    hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{hub.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield contents, asked
    hub.shutdown()
    hub.server_close()


def run(*arguments):
    return run_command(["models", *arguments])


def test_the_table_names_size_license_and_source(capfd):
    assert run("list") == 0
    lines = capfd.readouterr().out.splitlines()
    assert any(line.split() == ["bge-small-en-v1.5", "35", "MB", "MIT", "English", "missing"] for line in lines)
    assert run("list", "--json") == 0
    rows = json.loads(capfd.readouterr().out)
    assert {row["name"] for row in rows} == set(encoder_models.ENCODERS)
    for row in rows:
        assert len(row["revision"]) == 40
        assert not row["present"]
        assert all(size and len(checksum) == 64 for size, checksum in row["files"].values())
        assert {"onnx/model_quantized.onnx", "tokenizer.json"} == set(row["files"])


def test_a_download_is_pinned_complete_and_usable_by_name(server, capfd, tmp_path):
    _, asked = server
    entry = encoder_models.ENCODERS[NAME]
    assert run("get", NAME) == 0
    folder = tmp_path / "cache" / "models" / NAME
    assert f"--embed {NAME}" in capfd.readouterr().err
    assert set(asked) == {f"/{entry.repo}/resolve/{entry.revision}/{file}" for file in FILES}
    assert all((folder / file).read_bytes() == content for file, content in FILES.items())
    assert [path.name for path in folder.parent.iterdir()] == [NAME]
    encoder = read_encoder("copy", folder)
    assert (encoder.pooling, encoder.prefix) == ("mean", "query: ")
    assert resolve_embedder(NAME).fingerprint == read_encoder(NAME, folder).fingerprint
    # A second call compares checksums and downloads nothing.
    asked.clear()
    assert run("get", NAME) == 0
    assert not asked
    (folder / "tokenizer.json").write_bytes(b"[]")
    assert run("get", NAME) == 1
    assert "[bad-model]" in capfd.readouterr().err
    assert run("get", NAME, "--force") == 0
    assert (folder / "tokenizer.json").read_bytes() == FILES["tokenizer.json"]


def test_a_wrong_checksum_leaves_nothing(server, capfd, tmp_path):
    contents, _ = server
    contents["onnx/model_quantized.onnx"] = b"another"
    assert run("get", NAME, "-o", str(tmp_path / "mine")) == 1
    assert "[bad-model]" in capfd.readouterr().err
    assert not (tmp_path / "mine").exists()
    assert not list(tmp_path.glob(".download-*"))


def test_without_a_connection_the_sentence_names_files_and_folder(capfd, tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="extra onnx is not installed")

    def refuse(*arguments, **settings):
        raise OSError("no route")

    monkeypatch.setattr(hub, "hf_hub_download", refuse)
    assert run("get", NAME, "-o", str(tmp_path / "mine")) == 1
    err = capfd.readouterr().err
    for part in (*FILES, encoder_models.ENCODERS[NAME].revision, str(tmp_path / "mine"), "[missing-file]"):
        assert part in err
    assert not (tmp_path / "mine").exists()


def test_existing_folders_and_unknown_names_are_refused(capfd, tmp_path):
    (tmp_path / "mine").mkdir()
    assert run("get", NAME, "-o", str(tmp_path / "mine")) == 1
    assert "[output-exists]" in capfd.readouterr().err
    assert run("get", "nothing") == 2
    assert "[unknown-name]" in capfd.readouterr().err


def test_an_encoder_that_was_not_downloaded_is_refused_with_the_command():
    with pytest.raises(DataError, match="isthmus models get gte-small") as caught:
        resolve_embedder("gte-small")
    assert caught.value.code == "missing-file"
