"""What is done with odd inputs: one function a kind, each given a source of chance and an empty folder.

A kind passes when it comes to an answer, or to an error with a code and a sentence. Anything else is a finding.
"""

import inspect
import io
import json
import os
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import fuzz_inputs as odd
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

import isthmus
from isthmus.corpus import read_collection, write_rows
from isthmus.corpus.formats import can_cut
from isthmus.corpus.limits import unpacking_at_most
from isthmus.corpus.shards import choose_columns, cut_shard, read_block
from isthmus.exceptions import CODES, IsthmusError
from isthmus.methods import METHODS

LONGEST_SENTENCE = 2_000
UNPACKED = 20 * 2**20


class Finding(AssertionError):
    """Something that must not happen."""


def settled(work):
    """The outcome of the work, or the code of the error it was refused with."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()
    except IsthmusError as error:
        if error.code not in CODES or not str(error).strip():
            raise Finding(f"an error without a code or a sentence: {error!r}") from error
        if len(str(error)) > LONGEST_SENTENCE:
            raise Finding(f"a sentence of {len(str(error)):,} characters [{error.code}]") from error
        return error.code
    except MemoryError:
        return "too-large"


def nothing_half_written(folder, *known):
    """No hidden part and no temporary may be left in the folder."""
    left = [path.name for path in Path(folder).iterdir() if path.name.endswith("-part") or path.name.startswith(".")]
    if left:
        raise Finding(f"left behind: {left}")


# reading

FORMS = {
    "csv": odd.as_csv,
    "tsv": odd.as_csv,
    "jsonl": odd.as_jsonl,
    "json": odd.as_jsonl,
    "parquet": odd.as_parquet,
    "xlsx": odd.as_xlsx,
}


def read_text_files(rng, folder):
    return _read(rng, folder, rng.choice(["csv", "tsv", "jsonl", "json"]))


def read_binary_files(rng, folder):
    return _read(rng, folder, rng.choice(["parquet", "xlsx"]))


def _read(rng, folder, ending):
    data = odd.packed(odd.damaged(FORMS[ending](odd.table_rows(rng), rng), rng), rng)
    ending = ending if rng.random() < 0.95 else rng.choice(list(FORMS))
    path = Path(folder, f"in.{ending}" + (".gz" if data.startswith(b"\x1f\x8b") and rng.random() < 0.8 else ""))
    path.write_bytes(data)
    options = {
        "text": rng.choice([None, None, "text", "nothing", "text,more"]),
        "want_labels": rng.choice([None, True, False]),
    }
    with unpacking_at_most(UNPACKED):
        place = path if rng.random() < 0.8 else "-"
        outcome = settled(lambda: read_collection(place, stdin=io.BytesIO(data), **options))
        if can_cut(path):
            settled(lambda: _read_in_blocks(path, **options))
    if not isinstance(outcome, str):
        outcome.checks()
        if not len(outcome.texts) == len(outcome.ids) == len(outcome.labels):
            raise Finding("parts of a collection differ in length")
    return outcome


def _read_in_blocks(path, text, want_labels):
    blocks = cut_shard(str(path), 5, f"{path}.unpacked")
    columns = choose_columns(blocks, text=text, label=None, want_labels=bool(want_labels)) if blocks else None
    for rows in map(read_block, blocks):
        texts = rows.texts(columns.text)
        labels = rows.labels(columns.label) if columns.label else texts
        if not len(rows) == len(texts) == len(labels):
            raise Finding("parts of a block differ in length")


def read_folders(rng, folder):
    for i in range(rng.randint(0, 5)):
        place = Path(folder, "docs", rng.choice(["a", "b", "ü", "."]))
        place.mkdir(parents=True, exist_ok=True)
        place.joinpath(rng.choice(["x", "y.txt", ".hidden", "z.csv"]) + str(i)).write_bytes(
            odd.damaged(odd.text(rng).encode("utf-8", "replace"), rng)
        )
    return settled(lambda: read_collection(Path(folder, "docs")))


# writing


def write_tables(rng, folder):
    n, safe = rng.randint(0, 8), rng.random() < 0.5
    columns = {"text": [odd.text(rng) for _ in range(n)]}
    for number in range(rng.randint(0, 4)):
        pool = rng.sample(odd.ODD_VALUES, rng.randint(1, 4))
        name = rng.choice([f"c{number}", "=c", "", "\ud800", "a" * 300, "c,\n"])
        columns.setdefault(name, [rng.choice(pool) for _ in range(n)])
    ending = rng.choices(["csv", "tsv", "jsonl", "csv.gz", "parquet", "xlsx"], [4, 2, 4, 2, 2, 2])[0]
    path = Path(folder, f"out.{ending}")
    outcome = settled(lambda: write_rows(path, columns, spreadsheet_safe=safe))
    nothing_half_written(folder)
    if isinstance(outcome, str):
        if path.exists():
            raise Finding("an output was refused and written")
    elif n and ending not in ("parquet", "xlsx"):
        again = settled(lambda: read_collection(path, text="text"))
        if isinstance(again, str) or len(again) != n:
            raise Finding(f"what was written cannot be read again: {again}")
    return outcome


# methods


def label_texts(rng, folder):
    method = rng.choice(list(METHODS))
    n = rng.choice([0, 1, 2, 6, 20, 30])
    source, target = [odd.text(rng) for _ in range(n)], [odd.text(rng) for _ in range(rng.choice([0, 1, 5, 20]))]
    labels = odd.odd_labels(rng, n) if rng.random() < 0.3 else [odd.label(rng, i) for i in range(n)]
    words = rng.choice([None, None, {"staff": "staff"}, {"nowhere": "price"}, {"": 1}])

    def work():
        result = isthmus.label(
            source, labels, target, method=method, word_labels=words, random_state=rng.choice([0, None, -1, "x"])
        )
        if len(result.labels) != len(target) or not np.all((result.confidence >= 0) & (result.confidence <= 1 + 1e-9)):
            raise Finding("labels or confidence out of order")
        result.predict(["something new", ""])
        result.reasons(0)
        return result

    return settled(work)


def group_texts(rng, folder):
    n = rng.choice([1, 4, 20])
    source, target = [odd.text(rng) for _ in range(n)], [odd.text(rng) for _ in range(rng.choice([1, 3, 20]))]
    groups = odd.odd_labels(rng, n) if rng.random() < 0.3 else [odd.label(rng, i) for i in range(n)]
    work = rng.choice([isthmus.cluster, isthmus.diagnose])
    options = {"n_clusters": rng.choice([None, 1, 2, 50, 0])} if work is isthmus.cluster else {}
    return settled(lambda: work(source, groups, target, **options))


@cache
def estimators():
    """Every public estimator."""
    values = [getattr(isthmus, name) for name in sorted(isthmus._PUBLIC)]
    return [value for value in values if inspect.isclass(value) and issubclass(value, BaseEstimator)]


def fit_estimators(rng, folder):
    cls = rng.choice(estimators())
    n = rng.choice([0, 1, 2, 6, 12, 12, 12])
    reads_texts = get_tags(cls()).input_tags.string
    X = [odd.text(rng) for _ in range(n)] if reads_texts and rng.random() < 0.7 else odd.odd_matrix(rng, n)
    y, domain = odd.odd_labels(rng, n), odd.odd_domain(rng, n)
    takes = inspect.signature(cls.fit).parameters

    def work():
        fitted = cls().fit(X, y, **({"sample_domain": domain} if "sample_domain" in takes else {}))
        for name in ("predict", "predict_proba", "transform"):
            if hasattr(fitted, name):
                getattr(fitted, name)(X)
        return fitted

    try:
        return settled(work)
    except (ValueError, TypeError) as error:
        # scikit-learn's own sentences about arrays that are no matrices of numbers are as good as ours.
        if _is_about_the_array(error):
            return "refused by scikit-learn"
        raise


def _is_about_the_array(error):
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return f"sklearn{os.sep}utils{os.sep}" in last and len(str(error)) < LONGEST_SENTENCE


# saved models

MODELS = ("nbc", "cocc", "strings", "self-training", "cluster")


@cache
def saved_model(method):
    import tempfile

    texts = ["kind staff helped", "cheap bill paid", "rude staff", "high price paid"] * 4
    target = ["staff at the desk", "the bill of the sedan", "friendly staff", "paid the price"] * 2
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == "cluster":
            result = isthmus.cluster(texts, ["staff", "price"] * 8, target, n_clusters=2, min_df=1)
        else:
            result = isthmus.label(texts, ["staff", "price"] * 8, target, method=method, min_df=1)
        return result.save(Path(folder, "m.isthmus")).read_bytes()


def load_models(rng, folder):
    data = saved_model(rng.choice(MODELS))
    data = rng.choice([_damaged_parts, _damaged_parts, _damaged_parts, _bomb, lambda d, r: odd.damaged(d, r)])(
        data, rng
    )
    path = Path(folder, "m.isthmus")
    path.write_bytes(data)

    def work():
        result = isthmus.load(path)
        result.predict(["kind staff", ""])
        return result

    with unpacking_at_most(UNPACKED):
        return settled(work)


def _damaged_parts(data, rng):
    """The archive packed anew with damage inside one of its parts, or inside the archive within."""
    return _repack(data, rng, lambda name, part: _damage_part(name, part, rng))


def _damage_part(name, part, rng):
    if name == "isthmus.json" and rng.random() < 0.8:
        header = json.loads(part)
        if rng.random() < 0.3:
            header[rng.choice(list(header))] = rng.choice([None, 0, -1, 2, 10**9, "x", [], {}, 1.5, True])
            return json.dumps(header).encode()
        return _damage_description(header, rng)
    return odd.damaged(part, rng)


def _damage_description(header, rng):
    """Replace some values of the description of a result."""
    for _ in range(rng.randint(1, 3)):
        node = header["result"]
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                break
            key = rng.choice(keys)
            if not isinstance(node[key], (dict, list)) or rng.random() < 0.1:
                odds = [None, -1, 10**12, 1.5, "x", [], {}, {"tuple": []}, {"array": "0.npy"}, {"os.system": {}}]
                node[key] = rng.choice([*odds, {"model.Member": {}}, float("nan")])
                break
            node = node[key]
    return json.dumps(header).encode()


def _repack(data, rng, change):
    out = io.BytesIO()
    kind = rng.choice(
        [zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]
    )
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", kind) as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            part = old.read(name)
            if name == chosen and rng.random() < 0.1:
                continue
            new.writestr(name, change(name, part) if name == chosen else part)
    return odd.damaged(out.getvalue(), rng) if rng.random() < 0.2 else out.getvalue()


def _bomb(data, rng):
    """One part is replaced by sixty megabytes of the same letter."""
    chosen = rng.choice(["isthmus.json", "0.npy", "1.npy"])
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for name in old.namelist():
            if name != chosen:
                new.writestr(name, old.read(name))
                continue
            with new.open(name, "w") as part:
                part.write(b'{"texts": ["')
                for _ in range(60):
                    part.write(b"a" * 2**20)
                part.write(b'"]}')
    return out.getvalue()


def warm_up():
    """What the first input of a process would have to wait for."""
    for method in MODELS:
        saved_model(method)


# commands, in this process


def run_commands(rng, folder):
    run_command = _run_command()
    rows = odd.table_rows(rng, rng.choice([0, 6, 12]))
    for name in ("source", "target"):
        ending = rng.choice(["csv", "jsonl"])
        data = FORMS[ending](rows, rng) if rng.random() < 0.5 else _plain_csv(name, rng)
        Path(folder, f"{name}.csv").write_bytes(odd.damaged(data, rng) if rng.random() < 0.4 else data)
    command = rng.choice(["label", "label", "cluster", "diagnose", "explain", "check"])
    arguments = [command, str(Path(folder, "source.csv"))]
    if command in ("label", "cluster", "diagnose"):
        arguments.append(str(Path(folder, "target.csv")))
    if command == "label":
        arguments += ["--method", rng.choice(["nbc", "cocc", "projection", "svm", "nothing"])]
    if command in ("label", "cluster"):
        arguments += ["-o", str(Path(folder, f"out.{rng.choice(['csv', 'jsonl', 'xlsx', 'parquet', 'odt'])}"))]
    extra = [
        "--json",
        "--quiet",
        "--force",
        "--exact",
        "--text",
        "text",
        "--label",
        "label",
        "--seed",
        "1",
        "--clusters",
        "2",
        "--sample",
        "3",
    ]
    arguments += rng.sample(extra, rng.randint(0, 3))
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = run_command(arguments)
    said = err.getvalue()
    if code not in (0, 1, 2):
        raise Finding(f"exit code {code}")
    if "Traceback" in said or (code and not said.strip()):
        raise Finding(f"exit code {code}, said: {said[-300:]}")
    if max(map(len, said.splitlines()), default=0) > LONGEST_SENTENCE:
        raise Finding("a line of more than two thousand characters on standard error")
    nothing_half_written(folder)
    return f"exit {code}"


@cache
def _run_command():
    from isthmus.cli.app import run_command

    return run_command


def _plain_csv(name, rng):
    lines = ["id,text,label"]
    for i in range(14):
        words = " ".join(rng.choices(odd.WORDS, k=5))
        lines.append(f"{i},{words},{['staff', 'price'][i % 2]}")
    return "\n".join(lines).encode()


# faults: the command in a process of its own, and the world against it


def survive_faults(rng, folder):
    folder = Path(folder)
    for name in ("source", "target"):
        folder.joinpath(f"{name}.csv").write_bytes(_plain_csv(name, rng))
    folder.joinpath("out.csv").write_text("old\n")
    fault = rng.choice(
        [
            "kill",
            "kill",
            "interrupt",
            "interrupt",
            "full disk",
            "full output",
            "closed output",
            "left reader",
            "unbuffered",
        ]
    )
    arguments = [sys.executable, "-m", "isthmus", "label", "source.csv", "target.csv", "--method", "nbc"]
    to_file = fault in ("kill", "interrupt", "full disk")
    arguments += ["-o", "out.csv", "--report", "r.html", "--save", "m.isthmus", "--force"] if to_file else []
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if fault == "unbuffered":
        environment["PYTHONUNBUFFERED"] = "1"
    before = {"full disk": "ulimit -f 1; ", "unbuffered": "", "left reader": "", "closed output": ""}.get(fault, "")
    after = {
        "full output": " > /dev/full",
        "unbuffered": " > /dev/full",
        "closed output": " >&-",
        "left reader": " 2>&1 | head -c 5",
    }
    shell = before + "exec " * (fault != "left reader") + " ".join(arguments) + after.get(fault, "")
    process = subprocess.Popen(
        ["bash", "-c", shell], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if fault in ("kill", "interrupt"):
        time.sleep(rng.uniform(0.0, 6.0))
        process.send_signal(signal.SIGKILL if fault == "kill" else signal.SIGINT)
    _out, err = process.communicate(timeout=120)
    said = err.decode("utf-8", "replace")
    # Python itself may be interrupted before the command's first line; that is not ours to mend.
    ours = fault != "interrupt" or any(os.path.join("isthmus", part) in said for part in ("__main__", "cli"))
    if ours and ("Traceback" in said or "Exception ignored" in said):
        raise Finding(f"{fault}: {said[-400:]}")
    allowed = {"kill": (-9, 0), "interrupt": (130, 0, -2), "left reader": (0,)}.get(fault, (1,))
    if process.returncode not in allowed:
        raise Finding(f"{fault}: exit code {process.returncode}: {said[-300:]}")
    table = folder.joinpath("out.csv").read_text()
    if table != "old\n" and table.count("\n") != 15:
        raise Finding(f"{fault}: half a table of {len(table)} characters")
    page = folder / "r.html"
    if page.exists() and not page.read_text().rstrip().endswith("</html>"):
        raise Finding(f"{fault}: half a page")
    if folder.joinpath("m.isthmus").exists():
        isthmus.load(folder / "m.isthmus")
    if fault != "kill":
        nothing_half_written(folder)
    return f"{fault}: exit {process.returncode}"


KINDS = {
    "read text files": (read_text_files, 36),
    "read binary files": (read_binary_files, 2),
    "read folders": (read_folders, 6),
    "write tables": (write_tables, 18),
    "fit estimators": (fit_estimators, 20),
    "load models": (load_models, 8),
    "label texts": (label_texts, 4),
    "group texts": (group_texts, 3),
    "run commands": (run_commands, 2),
    "survive faults": (survive_faults, 0.4),
}
