"""Sizes from which the code goes another way: the answer is the same on both sides of each.

Every constant is set so low that tiny data is on its far side; what a public call gives is compared with what it gives
under the ordinary value. ``slack`` is 0 where the other way is exact, otherwise how far apart numbers may be.
"""

import gzip
import io
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import (
    FactorDualClassifier,
    ManifoldDualClassifier,
    StringKernel,
    TransductiveCentroidClassifier,
    TransductiveKernelClassifier,
)
from isthmus._math import content
from isthmus.choose import AccuracyEstimate, candidates
from isthmus.choose.guaranteed import Belief
from isthmus.classify.cocc.blocks import Weigher
from isthmus.corpus import read_collection
from isthmus.corpus.cells import FormulaEscaper
from isthmus.corpus.write import join_parquet, write_body, write_rows
from isthmus.estimator_checks import example_texts
from isthmus.exceptions import DataError
from isthmus.features import TextVectorizer
from isthmus.features.blocks import RowBlock
from isthmus.features.tokens import surface_forms
from isthmus.report import listing
from isthmus.scale import label_files
from isthmus.shift.space import joint_space


class Case(NamedTuple):
    """``run`` is given a folder; ``low`` is the low value of each constant."""

    name: str
    low: dict[str, Any]
    run: Any
    slack: float = 0.0


# -- what is run: each function makes its data anew, so that nothing is kept from the other side --------------------


def word_counts(n=24, width=10):
    rng = np.random.default_rng(3)
    topic = np.arange(n) % 2
    rates = np.where((np.arange(width) % 2) == topic[:, None], 1.5, 0.4)
    X = rng.poisson(rates)
    X[:, 0] += 1  # no row is empty
    return X.astype(float), topic


def half_labelled(topic):
    return [int(code) if i < len(topic) // 2 else -1 for i, code in enumerate(topic)]


def centroids(folder):
    X, topic = word_counts()
    model = TransductiveCentroidClassifier().fit(X, half_labelled(topic))
    return [model.predict_proba(X), model.target_proba(X[12:])]


NEW = ["kind staff and a fast bike", "slow service there", "a cheap bill", "polite staff"]


def strings(folder, **settings):
    texts, labels, domain = example_texts(n=20)
    settings = {"ngram_range": (2, 4), "random_state": 0, **settings}
    model = TransductiveKernelClassifier(**settings).fit(texts, labels, domain)
    return [model.target_scores_, model.predict_proba(NEW), model.ranking_, model.landmarks_, model.added_]


def counted_ngrams(kind):
    def run(folder):
        names, own, counts = StringKernel(kind, (2, 4)).counts(NEW[0], NEW)
        order = np.argsort(names)
        return [np.array(names)[order], own[order], counts.toarray()[:, order]]

    return run


def kernel_of_texts(kind):
    def run(folder):
        texts = example_texts(n=12)[0]
        kernel = StringKernel(kind, (2, 4))
        return [kernel.gram(texts), kernel.cross(texts[:5], texts[5:]), kernel.gram(texts, normalize=True)]

    return run


def dual(kind, **settings):
    def run(folder):
        X, topic = word_counts()
        settings_ = {"word_labels": {2: 0, 3: 1}, "random_state": 0, **settings}
        model = kind(**settings_).fit(X, half_labelled(topic))
        return [model.predict_proba(X), model.word_scores_]

    return run


def suggested(folder):
    X, topic = word_counts()
    model = ManifoldDualClassifier(word_labels={2: 0}, tol=1e-10, random_state=0).fit(X, half_labelled(topic))
    rows = model.suggest_words(9)
    return [[row["column"] for row in rows], [[row["expected_use"], row["expected_change"]] for row in rows]]


def hashed(folder):
    X = word_counts()[0]
    X[[0, 5, 23]] = 0
    rows = sp.csr_matrix(X)
    noise = content.content_noise(rows, 3, np.random.default_rng(0))
    return [content.content_keys(X), content.content_keys(rows), noise, content.content_order(rows)]


def logarithms(folder):
    X = sp.csr_matrix(word_counts()[0])
    return [Weigher().steps(RowBlock.of(X)), Weigher().values(RowBlock.of(X))]


def terms(language, **settings):
    def run(folder):
        german = "die Mitarbeiter waren sehr freundlich und das Fahrrad ist nicht mehr so schnell wie früher"
        texts = [*example_texts(n=12)[0], *(f"{german}, {word}" for word in ("Preis", "Dienst", "Fahrradpreis"))]
        vectorizer = TextVectorizer(min_df=1, language=language, **settings).fit(texts)
        new = [*texts[::2], "", german, "wholly unknown"]
        return [vectorizer.transform(new).toarray()]

    return run


def labelled_in_blocks(folder, **settings):
    texts, labels, domain = example_texts(n=40)
    with open(folder / "s.csv", "w", encoding="utf-8") as source, open(folder / "t.csv", "w", encoding="utf-8") as aim:
        source.write("text,topic\n")
        aim.write("id,text\n")
        for i, text in enumerate(texts):
            (source if domain[i] > 0 else aim).write(f"{text},{labels[i]}\n" if domain[i] > 0 else f"d{i},{text}\n")
    out = folder / "out.csv"
    files = str(folder / "s.csv"), str(folder / "t.csv"), out
    with pytest.MonkeyPatch.context() as quiet:
        quiet.setenv("PYTHONWARNINGS", "ignore")
        label_files(*files, text="text", label="topic", sample=50, block_rows=9, language="en", **settings)
    return [out.read_text(encoding="utf-8")]


def written(kind):
    def run(folder):
        columns = {"id": [f"d{i}" for i in range(7)], "text": ["a, b", "", "c", 'd "e"', None, "=f", "g\nh"]}
        out = io.BytesIO()
        write_body(out, kind, columns, FormulaEscaper(True))
        return [out.getvalue()]

    return run


def joined(folder):
    polars = pytest.importorskip("polars")
    for number in range(3):
        polars.DataFrame({"id": [10 * number + i for i in range(5)]}).write_parquet(folder / f"{number}.parquet")
    join_parquet([folder / f"{number}.parquet" for number in range(3)], folder / "all.parquet")
    return [polars.read_parquet(folder / "all.parquet")["id"].to_list()]


def packed_file(folder):
    lines = [f"d{i},text number {i}\n".encode() for i in range(40)]
    parts = [b"id,text\n" + b"".join(lines[:25]), b"".join(lines[25:])]
    padded = gzip.compress(parts[0]) + gzip.compress(parts[1]) + b"\0" * 9  # two members, and zeros behind them
    (folder / "t.csv.gz").write_bytes(padded)
    found = read_collection(folder / "t.csv.gz", text="text")
    return [found.texts, found.columns]


def workbook(folder):
    pytest.importorskip("xlsxwriter")
    rows = range(40)
    write_rows(folder / "t.xlsx", {"id": [f"d{i}" for i in rows], "text": [f"text number {i}" for i in rows]})
    return [read_collection(folder / "t.xlsx", text="text").texts]


def believed(folder):
    belief = Belief.of(np.linspace(0.99, 0.55, 600), AccuracyEstimate(0.8, 0.7, 0.9))
    return [belief.errors(np.array([300, 600])), [belief.size]]


def placed(folder):
    """Two texts a side, again and again: a part of them has the directions of all."""
    source, target = ["kind staff", "cheap price"] * 20, ["kind manager", "fair price"] * 20
    space = joint_space(source, target, language="en")
    return [space.vectors @ space.vectors.T]


def commonest_forms(folder):
    texts = ["riding rides friendly", "riding a bike", "friends ride bikes", "riding friendly friends"] * 6
    return [surface_forms(TextVectorizer(min_df=1, language="en").fit(texts), texts)]


def guessed_table(folder):
    """Labels stand in the last rows alone."""
    lines = [
        f"{i};text number {i} is long;{i % 7};{'' if i < 30 else 'staff' if i % 2 else 'price'}\n" for i in range(60)
    ]
    (folder / "t.csv").write_text("nr;remark;points;art\n" + "".join(lines), encoding="utf-8")
    found = read_collection(folder / "t.csv", want_labels=True)
    return [found.texts, found.labels.tolist() if hasattr(found.labels, "tolist") else found.labels]


def other_encodings(folder):
    found = []
    for name, text in (("cp1252", "größer, schöner, früher"), ("gb18030", "球队比赛胜利了，大家都很高兴")):
        rows = "".join(f"{text} {i}\n" for i in range(40)).replace(", ", " ")
        (folder / f"{name}.csv").write_bytes(("text\n" + rows).encode(name))
        found.append(read_collection(folder / f"{name}.csv", text="text").texts)
    return found


def stored(folder):
    sa = pytest.importorskip("sqlalchemy")
    from isthmus.workspace.database import Database

    database = Database(f"sqlite:///{folder / 'w.db'}")
    table = sa.Table("numbers", sa.MetaData(), sa.Column("n", sa.Integer))
    with database.writing() as connection:
        table.create(connection)
    count = database.insert_many(table, ({"n": 3 * i} for i in range(10)))
    with database.engine.connect() as connection:
        rows = connection.execute(sa.select(table.c.n)).scalars().all()
    database.engine.dispose()
    return [count, rows]


TERMS = "isthmus.features.term_rows."
STEPS = {"isthmus.classify.strings.kernel_ridge.STEPS_FROM": (1, 1)}
ROWS = "isthmus.classify.strings."
CASES = [
    Case("rows squared", {"isthmus.classify.centroids._BLOCK": 5}, centroids),
    Case("rows scaled", {"isthmus.classify.rules.BLOCK": 5}, lambda f: strings(f, align="domain")),
    Case("ridge of features", {ROWS + "kernel_ridge.BLOCK": 5}, lambda f: strings(f, n_landmarks=8), 1e-7),
    Case("ridge of a kernel", {ROWS + "kernel_ridge.BLOCK": 5}, lambda f: strings(f, transductive=False), 1e-12),
    Case("ridge in steps", STEPS, lambda f: strings(f, alpha=1e-2), 1e-5),
    Case("strips of the ridge", STEPS | {ROWS + "ridge_steps.STRIP": 3}, lambda f: strings(f, alpha=1e-2), 1e-5),
    Case("a table of n-grams", {"isthmus.features.gram._TABLE": 0}, counted_ngrams("presence")),
    *(Case(f"blocks of the kernel, {kind}", {"isthmus.features.gram.BLOCK": 5}, kernel_of_texts(kind))
      for kind in ("presence", "intersection", "spectrum")),
    Case("more than are compared whole, fewer than the landmarks", {ROWS + "classifier.MOST_EXACT": 5}, strings),
    Case("new rows, manifold", {"isthmus.classify.dual.kernels.BLOCK": 5}, dual(ManifoldDualClassifier), 1e-12),
    Case("new rows, factors", {"isthmus.classify.dual.kernels.BLOCK": 5}, dual(FactorDualClassifier), 1e-12),
    Case("conjugate gradients", {"isthmus.classify.dual.base.DIRECT_UP_TO": 5},
         dual(ManifoldDualClassifier, tol=1e-10), 1e-6),
    Case("words worked out together", {"isthmus.classify.dual.manifold_system.CHUNK": 2}, suggested, 1e-6),
    Case("hashes", {"isthmus._math.content._BLOCK": 4}, hashed),
    Case("logarithms looked up", {"isthmus.classify.cocc.blocks._LARGEST_TABLE": 1}, logarithms),
    *(Case(f"terms of many texts, {name}", {TERMS + "_MANY": 3, TERMS + "_PART": 5}, terms(language, **settings))
      for name, language, settings in (
          ("English", "en", {}), ("pairs", "en", {"ngram_range": (1, 2)}), ("pieces", "de", {}),
          ("two languages", "auto", {}), ("as written", "en", {"stem": False}))),
    *(Case(f"labels in blocks, {name}", low, lambda f, m=method: labelled_in_blocks(f, method=m))
      for name, method, low in (
          ("words forgotten", "nbc", {"isthmus.scale.reading._CACHE_WORDS": -1}),
          ("terms merged", "logistic", {"isthmus.scale.views._MERGED": 1}),
          ("pairs merged", "logistic", {"isthmus.scale.views._PAIRS": 3}),
          ("terms in one part", "nbc", {"isthmus.scale.pieces.TERM_PARTS": 1, "isthmus.scale.views.TERM_PARTS": 1}),
          ("bytes", "nbc", {"isthmus.corpus.shards.MOST_BYTES": 90}))),
    *(Case(f"rows written, {kind}", {"isthmus.corpus.write._AT_ONCE": 2}, written(kind)) for kind in ("csv", "tsv")),
    Case("groups of rows", {"isthmus.corpus.write._ROW_GROUP": 2}, joined),
    Case("a packed file", {"isthmus.corpus.limits._CHUNK": 7, "isthmus.corpus.limits._PACKED_CHUNK": 5}, packed_file),
    Case("a workbook", {"isthmus.corpus.limits._CHUNK": 50}, workbook),
    Case("commonest forms, documents", {"isthmus.features.tokens._DOCUMENTS": 8}, commonest_forms),
    Case("commonest forms, characters", {"isthmus.features.tokens._CHARACTERS": 23}, commonest_forms),
    Case("guesses about a table", {"isthmus.corpus.guess.LOOKED_AT": 9}, guessed_table),
    Case("guesses about an encoding", {"isthmus.corpus.decode._SAMPLE": 30}, other_encodings),
    Case("rows of a database", {"isthmus.workspace.database._BLOCK": 3}, stored),
    Case("a kernel in a file", {"isthmus.features.strings.MEMORY_SHARE": 0.0}, kernel_of_texts("presence")),
    Case("belief", {"isthmus.choose.guaranteed._POINTS": 60}, believed, 0.01),
    Case("a map", {"isthmus.shift.space._FITTED": 8}, placed, 1e-6),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_sides_of_a_threshold_give_the_same(case, tmp_path, monkeypatch):
    folders = tmp_path / "ordinary", tmp_path / "low"
    for folder in folders:
        folder.mkdir()
    ordinary = case.run(folders[0])
    for place, low in case.low.items():
        module, _, name = place.rpartition(".")
        assert hasattr(import_module(module), name), f"{place} should be there"
        monkeypatch.setattr(f"{module}.{name}", low)
    found = case.run(folders[1])
    assert len(found) == len(ordinary)
    for number, (one, other) in enumerate(zip(found, ordinary, strict=True)):
        what = f"{case.name}: item {number} with {case.low} against the ordinary value"
        if case.slack and one is not None:
            np.testing.assert_allclose(one, other, rtol=case.slack, atol=case.slack, err_msg=what)
        elif isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other, err_msg=what)
        else:
            assert one == other, what


@pytest.mark.parametrize(
    ("name", "most", "tried"),
    [
        ("MOST_STRINGS", 3, True),
        ("MOST_STRINGS", 2, False),
        ("MOST_CHARACTERS", 6, True),
        ("MOST_CHARACTERS", 5, False),
    ],
)
def test_string_kernels_are_tried_up_to_so_many_texts_and_characters(name, most, tried, monkeypatch):
    monkeypatch.setattr(candidates, name, most)
    chosen, left_out = candidates.candidates_for(["ab", "cd", "ef"], None)
    assert ("strings" in chosen) is tried, f"{name} is {most} for three texts with six characters"
    assert [row["method"] for row in left_out] == ([] if tried else ["strings"])
    assert all("3 documents with 6 characters" in row["why"] for row in left_out)


@pytest.mark.parametrize(("n", "left_out"), [(49, False), (50, True)])
def test_from_fifty_texts_on_words_that_are_everywhere_are_stop_words(n, left_out):
    """Of a language without a list of them."""
    texts = [f"shtëpi {'bukur' if i % 4 else 'vogël'} {'abc'[i % 3] * 4}" for i in range(n)]
    names = TextVectorizer(min_df=1, language="sq", stem=False).fit(texts).get_feature_names_out().tolist()
    assert ("shtëpi" not in names) is left_out, f"{n} texts: {names}"
    assert "vogël" in names, "a quarter of the texts hold it"


@pytest.mark.parametrize(("many", "asked"), [(12, 5), (11, 3)])
def test_of_many_documents_fewer_are_put_in_order_by_what_they_would_teach(many, asked, monkeypatch):
    pytest.importorskip("sqlalchemy")
    from isthmus.workspace import running

    for name, value in {"_MANY": many, "_ASKED": 5, "_ASKED_OF_MANY": 3}.items():
        monkeypatch.setattr(running, name, value)
    confidence = np.linspace(0.9, 0.4, 12)
    seen = []

    def ask(n, *, suggest):
        seen.append(n)
        return {"document": list(range(1, n + 1)), "reason": ["why"] * n, "drawn": ["random"] * n}

    result = SimpleNamespace(texts=["t"] * 12, confidence=confidence, needs_review=confidence < 0.6, ask=ask)
    rank, reasons = running.review_order(result)
    assert seen == [asked], f"twelve documents, many from {many} on"
    assert sorted(reasons) == list(range(asked))
    assert rank[:asked].tolist() == list(range(asked)), "what is asked comes first"
    assert rank[asked:].tolist() == list(range(11, asked - 1, -1)), "then the least sure"


def test_near_documents_are_found_for_the_least_sure_up_to_a_limit(monkeypatch):
    texts, labels, _ = example_texts(n=12)
    source, target = texts[:12], texts[12:24]
    space = joint_space(source, target, language="en")
    result = SimpleNamespace(
        texts=target,
        source_texts=source,
        source_labels=labels[:12].tolist(),
        confidence=np.linspace(0.5, 0.9, 12)[::-1],
    )
    rows = np.arange(12)
    whole = listing._near(result, rows, space)
    assert (whole >= 0).any(axis=1).all()
    monkeypatch.setattr(listing, "_NEIGHBOURS", 4)
    some = listing._near(result, rows, space)
    np.testing.assert_array_equal(some[8:], whole[8:], err_msg="the four least sure, who stand last")
    np.testing.assert_array_equal(some[:8], -1, err_msg="the others have none")


def landmarks_of_texts(seed):
    texts, labels, domain = example_texts(n=20)
    model = TransductiveKernelClassifier(ngram_range=(2, 4), random_state=seed).fit(texts, labels, domain)
    return model.target_scores_


def landmarks_of_rows(seed):
    X, topic = word_counts()
    return (
        ManifoldDualClassifier(max_exact=MOST.exact, n_landmarks=6, random_state=seed)
        .fit(X, half_labelled(topic))
        .document_scores_
    )


MOST = SimpleNamespace(exact=4_000)


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize(
    ("run", "low"),
    [
        (landmarks_of_texts, {ROWS + "classifier.MOST_EXACT": 5, ROWS + "classifier.LANDMARKS": 12}),
        (landmarks_of_rows, {"MOST.exact": 5}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_drawn_behind_a_threshold_is_drawn_by_the_seed_of_the_model(run, low, monkeypatch):
    np.testing.assert_array_equal(run(1), run(2), err_msg="nothing is drawn from this side")
    for place, value in low.items():
        if place == "MOST.exact":
            monkeypatch.setattr(MOST, "exact", value)
        else:
            monkeypatch.setattr(place, value)
    first, again, other = run(1), run(1), run(2)
    np.testing.assert_array_equal(first, again, err_msg=f"one seed, one answer with {low}")
    assert not np.allclose(first, other), f"another seed draws others with {low}"


@pytest.mark.parametrize("chunk", [1 << 22, 61, 11])
def test_a_stray_cell_is_found_wherever_the_pieces_of_a_sheet_end(tmp_path, monkeypatch, chunk):
    """Its place stands once in the file, and a piece may end within it."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        for row in range(30):
            sheet.write(row, 0, "text" if not row else f"text number {row}")
        sheet.write(900, 30, "stray")
    monkeypatch.setattr("isthmus.corpus.limits._CHUNK", chunk)
    monkeypatch.setattr("isthmus.corpus.limits.MOST_CELLS", 20_000)
    with pytest.raises(DataError, match="a cell in row 901 and one in column 31") as caught:
        read_collection(tmp_path / "t.xlsx", text="text")
    assert caught.value.code == "too-large"
