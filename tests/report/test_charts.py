"""Charts: every kind draws, nothing is loaded from the network, wrong descriptions are refused."""

import json
import math
import re
import sys

import pytest

from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.report.charts import draw, save_chart

pytest.importorskip("altair")

CURVE = [
    {"k": k, "error": 0.05 + 0.01 * place / k, "λ": lam, "sd": 0.01, "task": task}
    for task in ("rec-talk", "a.b [c]")
    for place, lam in enumerate(("0.1", "0.5"))
    for k in (4, 16, 64)
]
NAMED = [{"word": "price", "weight": 0.4}, {"word": "staff", "weight": -0.3}]
CELLS = [{"true": a, "label": b, "n": i + j} for i, a in enumerate("xyz") for j, b in enumerate("xyz")]


def marks(spec):
    """Kinds of marks in a Vega-Lite specification, outermost first."""
    inner = spec.get("spec", spec)
    return [layer["mark"]["type"] for layer in inner.get("layer", [inner])]


@pytest.mark.parametrize(
    ("table", "spec", "expected"),
    [
        (CURVE, {"kind": "line", "x": "k", "y": "error", "color": "λ", "log_x": True}, ["line", "point"]),
        (CURVE, {"kind": "line", "x": "k", "y": "error", "points": False}, ["line"]),
        (CURVE, {"x": "k", "y": "error", "error": "sd", "reference": 0.05}, ["rule", "line", "rule", "point"]),
        (CURVE, {"kind": "scatter", "x": "k", "y": "error", "label": "task", "trend": True}, ["line", "point", "text"]),
        (CURVE, {"kind": "bar", "x": "task", "y": "error", "color": "λ", "error": "sd"}, ["bar", "rule"]),
        (NAMED, {"kind": "bar", "x": "word", "y": "weight", "horizontal": True, "order": "value"}, ["bar"]),
        (CELLS, {"kind": "heatmap", "x": "label", "y": "true", "value": "n", "value_format": "d"}, ["rect", "text"]),
        (CELLS, {"kind": "heatmap", "x": "label", "y": "true", "color": "n", "diverging": True}, ["rect"]),
    ],
)
def test_every_kind_draws_its_marks(table, spec, expected, tmp_path):
    chart = draw(table, spec)
    assert marks(chart.to_dict()) == expected
    svg = save_chart(chart, tmp_path / "chart.svg").read_text()
    assert svg.startswith("<svg")
    assert not re.search(r"(?:href|src)=\"https?:", svg)


def test_a_trend_is_fitted_to_what_stands_upright_over_what_lies():
    line = draw(CURVE, {"kind": "scatter", "x": "k", "y": "error", "trend": True}).to_dict()["layer"][0]
    assert line["transform"] == [{"on": "k", "regression": "error"}]


def test_facets_titles_and_axis_names(tmp_path):
    spec = {
        "kind": "line", "x": "k", "y": "error", "color": "λ", "facet": "task", "title": "Error by clusters",
        "x_title": "word clusters", "y_title": "test error", "color_title": "trade-off",
    }  # fmt: skip
    svg = save_chart(draw(CURVE, spec), tmp_path / "chart.svg").read_text()
    for text in ("Error by clusters", "word clusters", "test error", "trade-off", "rec-talk", "a.b [c]"):
        assert text in svg


def test_odd_column_names_still_draw_their_values(tmp_path):
    table = [{"macro.f1 [%]": 1.0 + i, "n:k": i} for i in range(3)]
    svg = save_chart(draw(table, {"x": "n:k", "y": "macro.f1 [%]"}), tmp_path / "c.svg").read_text()
    assert len(re.findall(r'aria-roledescription="point"', svg)) == 3


def test_gaps_are_left_out(tmp_path):
    table = [{"x": 1, "y": 1.0}, {"x": 2, "y": math.nan}, {"x": 3, "y": 2.0}]
    content = json.loads(save_chart(draw(table, {"x": "x", "y": "y"}), tmp_path / "c.json").read_text())
    assert content["data"]["values"][1]["y"] is None


def test_formats_and_repeatability(tmp_path):
    chart = draw(NAMED, {"kind": "bar", "x": "word", "y": "weight"})
    assert save_chart(chart, tmp_path / "new" / "c.png").read_bytes().startswith(b"\x89PNG")
    first = save_chart(chart, tmp_path / "a.svg").read_bytes()
    again = draw(NAMED, {"kind": "bar", "x": "word", "y": "weight"})
    assert save_chart(again, tmp_path / "b.svg").read_bytes() == first
    names = set(re.findall(r'id="([^"]+)"', first.decode()))
    assert set(re.findall(r"url\(#([^)]+)\)", first.decode())) == names != set()
    with pytest.raises(UsageError, match=r"\.svg, \.png or \.json"):
        save_chart(chart, tmp_path / "c.pdf")


def test_colours_follow_the_order_of_the_table_and_shapes_repeat_them():
    spec = draw(CURVE, {"x": "k", "y": "error", "color": "λ"}).to_dict()
    points = spec["layer"][1]["encoding"]
    assert points["color"]["scale"]["domain"] == ["0.1", "0.5"]
    assert points["shape"]["scale"]["domain"] == ["0.1", "0.5"]
    assert spec["config"]["background"] == "#FFFFFF"


def test_more_names_than_colours_still_differ():
    table = [{"x": i, "y": i, "g": f"group {i}"} for i in range(20)]
    points = draw(table, {"kind": "scatter", "x": "x", "y": "y", "color": "g"}).to_dict()["encoding"]
    looks = list(zip(points["color"]["scale"]["range"], points["shape"]["scale"]["range"], strict=True))
    assert len(set(looks)) == 20


@pytest.mark.parametrize(
    ("table", "spec", "kind", "code"),
    [
        (CURVE, {"kind": "pie", "x": "k", "y": "error"}, UsageError, "bad-parameter"),
        (CURVE, {"x": "k", "y": "error", "colour": "λ"}, UsageError, "bad-parameter"),
        (CURVE, {"x": "k", "y": "f1"}, UsageError, "unknown-column"),
        (CURVE, {"x": "k"}, UsageError, "bad-parameter"),
        (CELLS, {"kind": "heatmap", "x": "label", "y": "true"}, UsageError, "bad-parameter"),
        ([], {"x": "k", "y": "error"}, DataError, "no-rows"),
    ],
)
def test_wrong_descriptions_are_refused(table, spec, kind, code):
    with pytest.raises(kind) as caught:
        draw(table, spec)
    assert caught.value.code == code


def bars_of(table, **more):
    return draw(table, {"kind": "bar", "x": "word", "y": "weight", "color": "side", "horizontal": True, **more})


def test_bars_stand_side_by_side_only_where_a_name_has_several():
    one_each = [{"word": "a", "weight": 1.0, "side": "yes"}, {"word": "b", "weight": 2.0, "side": "no"}]
    assert "yOffset" not in bars_of(one_each).to_dict()["encoding"]
    two = [*one_each, {"word": "a", "weight": 0.5, "side": "no"}]
    assert "yOffset" in bars_of(two).to_dict()["encoding"]


def test_mirrored_bars_share_a_line_and_lose_their_sign(tmp_path):
    table = [{"word": "a", "weight": sign * 0.25, "side": side} for side, sign in (("left", -1), ("right", 1))]
    chart = bars_of(table, mirror=True, y_format="~%")
    assert "yOffset" not in chart.to_dict()["encoding"]
    svg = save_chart(chart, tmp_path / "c.svg").read_text()
    assert svg.count(">20%<") == 2
    assert ">−" not in svg


def test_lying_bars_have_error_bars_where_the_error_is_known(tmp_path):
    table = [{"word": "a", "weight": 0.4, "sd": 0.1}, {"word": "b", "weight": 0.2, "sd": None}]
    spec = {"kind": "bar", "x": "word", "y": "weight", "horizontal": True, "error": "sd"}
    svg = save_chart(draw(table, spec), tmp_path / "c.svg").read_text()
    rules = re.findall(r'aria-roledescription="rule mark"[^>]*>', svg)
    assert len(rules) == 2
    lengths = sorted(abs(float(x)) for x in re.findall(r'aria-roledescription="rule mark"[^>]*? x2="([-0-9.]+)"', svg))
    assert lengths[0] == 0 < lengths[1]


def test_whole_numbers_have_no_ticks_between(tmp_path):
    svg = save_chart(
        draw([{"step": 1.0, "y": 0.5}, {"step": 2.0, "y": 0.7}], {"x": "step", "y": "y"}), tmp_path / "c.svg"
    )
    labels = re.findall(r">([0-9.]+)</text>", svg.read_text())
    assert labels[:2] == ["1", "2"]
    assert "1.5" not in labels


def test_a_picture_names_the_extra_that_draws_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    chart = draw(CURVE, {"x": "k", "y": "error"})
    with pytest.raises(MissingExtraError, match=r"isthmus\[pictures\]"):
        save_chart(chart, tmp_path / "c.svg")
    assert save_chart(chart, tmp_path / "c.json").exists()


@pytest.mark.parametrize(("given", "title"), [({}, "true label"), ({"color_title": "Truth"}, "Truth")])
def test_colours_are_titled_by_what_they_stand_for(given, title):
    rows = [{"k": 1, "error": 0.1, "true_label": "staff"}, {"k": 2, "error": 0.2, "true_label": "price"}]
    spec = draw(rows, {"kind": "scatter", "x": "k", "y": "error", "color": "true_label"} | given).to_dict()
    assert spec["encoding"]["color"]["title"] == title


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"kind": "scatter", "reference": 0.05}, ["rule", "point"]),
        ({"kind": "scatter", "error": "sd"}, ["rule", "point"]),
        ({"kind": "bar", "reference": 0.05}, ["bar", "rule"]),
        ({"kind": "bar", "reference": 0.05, "horizontal": True}, ["bar"]),  # it would stand across the bars
        ({"kind": "line", "points": False, "reference": 0}, ["rule", "line"]),
    ],
)
def test_lines_and_bars_that_were_asked_for_are_drawn(spec, expected):
    drawn = draw(CURVE, {"x": "k", "y": "error", **spec}).to_dict()
    assert marks(drawn) == expected
    for layer in drawn.get("layer", []):
        if layer["mark"].get("strokeDash"):
            assert layer["encoding"]["y"]["datum"] == spec["reference"]


def test_cells_are_in_order_and_coloured_around_zero_where_asked():
    cells = [{"x": x, "y": y, "n": x - 2} for x in (3, 1, 2) for y in ("b", "a")]
    spec = {"kind": "heatmap", "x": "x", "y": "y", "value": "n"}
    plain = draw(cells, spec).to_dict()["encoding"]
    assert (plain["x"]["sort"], plain["y"]["sort"]) == ([1, 2, 3], ["b", "a"]), "numbers by size, names as they came"
    assert plain["color"]["scale"] == {"scheme": "blues"}
    around = draw(cells, spec | {"diverging": True, "value_format": "d"}).to_dict()["layer"]
    assert around[0]["encoding"]["color"]["scale"] == {"scheme": "blueorange", "domainMid": 0}
    assert around[1]["encoding"]["color"]["condition"]["test"] == "false", "no cell is dark enough for white letters"
    dark = draw(cells, spec | {"value_format": "d"}).to_dict()["layer"][1]["encoding"]["color"]["condition"]["test"]
    assert float(dark.rpartition("> ")[2]) == pytest.approx(-1 + 0.6 * 2), "six tenths of the way from -1 to 1"
    none = [{"x": 1, "y": "a", "n": None}]
    assert marks(draw(none, spec | {"value_format": "d"}).to_dict()) == ["rect"], "nothing to write"


@pytest.mark.parametrize(
    ("columns", "rows", "size"), [(1, 1, (80, 80)), (4, 10, (176, 300)), (12, 3, (528, 90)), (30, 20, (560, 480))]
)
def test_a_heatmap_grows_with_its_cells_and_ends_at_a_page(columns, rows, size):
    cells = [{"x": f"x{x}", "y": f"y{y}", "n": 1} for x in range(columns) for y in range(rows)]
    spec = {"kind": "heatmap", "x": "x", "y": "y", "value": "n"}
    drawn = draw(cells, spec).to_dict()
    assert (drawn["width"], drawn["height"]) == size
    asked = draw(cells, spec | {"width": 99, "height": 98}).to_dict()
    assert (asked["width"], asked["height"]) == (99, 98)


def test_whether_an_axis_has_names_or_numbers():
    rows = [{"flag": i % 2 == 0, "half": i + 0.5, "few": i, "many": 10 * i, "none": None, "y": 1} for i in range(3)]

    def x(name, **more):
        return draw(rows, {"kind": "scatter", "x": name, "y": "y", **more}).to_dict()["encoding"]["x"]

    assert [x(name)["type"] for name in ("flag", "half", "none")] == ["nominal", "quantitative", "nominal"]
    assert x("few", x_type="nominal")["type"] == "nominal"
    assert x("few")["axis"]["values"] == [0, 1, 2], "whole numbers all get their tick"
    for name, more in (("half", {}), ("many", {}), ("few", {"log_x": True})):
        assert "values" not in x(name, **more)["axis"], f"{name} {more}"


@pytest.mark.parametrize(
    ("length", "room", "turned"),
    [
        (13, None, False),  # four names of 13 and the blanks between are 60
        (14, None, True),
        (10, 65, False),  # ten letters of six and a half pixels
        (10, 64, True),
        (14, 91, False),
    ],
)
def test_names_that_do_not_fit_side_by_side_are_turned(length, room, turned):
    table = [{"word": sign * length, "weight": 1.0} for sign in "abcd"]
    spec = {"kind": "bar", "x": "word", "y": "weight"} | ({"room": room} if room else {})
    assert draw(table, spec).to_dict()["encoding"]["x"]["axis"]["labelAngle"] == (-35 if turned else 0)


def test_names_are_as_long_as_a_line_and_hold_nothing_that_cannot_be_drawn():
    table = [{"word": word, "weight": 1.0} for word in ("a" * 80, "b" * 81, "c\x00d")]
    values = draw(table, {"kind": "bar", "x": "word", "y": "weight"}).to_dict()["data"]["values"]
    assert [row["word"] for row in values] == ["a" * 80, "b" * 79 + "…", "c\ufffdd"]
