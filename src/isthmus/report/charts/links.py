"""Links: names on the left joined to names on the right by lines as thick as the bond is strong."""

from __future__ import annotations

from typing import Any

import altair as alt

from isthmus.report.charts import theme

_STEP, _LONGEST = 24, 24  # pixels between names; letters of a name


def draw(table: list[dict], spec: dict) -> Any:
    """Rows of ``left``, ``right`` and ``strength`` (None in ``left`` or ``right``: that name stands alone)."""
    left, right = theme.in_order(table, "left"), theme.in_order(table, "right")
    height = _STEP * max(len(left), len(right), 1)
    y_of = {
        side: {name: (i + 0.5) / len(names) for i, name in enumerate(names)}
        for side, names in (("left", left), ("right", right))
    }
    lines = [
        {"x": 0.0, "x2": 1.0, "y": y_of["left"][row["left"]], "y2": y_of["right"][row["right"]], "v": row["strength"]}
        for row in table
        if row["left"] is not None and row["right"] is not None
    ]
    alone = {"left": set(left), "right": set(right)}
    for row in table:
        if row["left"] is not None and row["right"] is not None:
            alone["left"].discard(row["left"])
            alone["right"].discard(row["right"])
    strength = {row["right"]: row["strength"] for row in table}
    points = [
        {
            "x": place,
            "y": y_of[side][name],
            "name": _shown(name, strength.get(name) if side == "right" else None),
            "state": "no match" if name in alone[side] else "matched",
        }
        for place, side, names in ((0.0, "left", left), (1.0, "right", right))
        for name in names
    ]
    flat: dict[str, Any] = {"axis": None, "scale": alt.Scale(domain=[0, 1], nice=False)}
    x, y = alt.X("x:Q", **flat), alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[1, 0], nice=False))
    layers = []
    if lines:
        width = alt.StrokeWidth(
            "v:Q",
            scale=alt.Scale(domain=[0, 1], range=[1, 9]),
            legend=None,  # the strengths stand in the names
        )
        rule = alt.Chart(alt.Data(values=lines)).mark_rule(color=theme.PALETTE[0], opacity=0.65, strokeCap="round")
        layers.append(rule.encode(x=x, x2="x2:Q", y=y, y2="y2:Q", strokeWidth=width))
    states = ["matched", "no match"]
    paint = alt.Color(
        "state:N", title="", sort=states, scale=alt.Scale(domain=states, range=[theme.PALETTE[0], theme.PALETTE[1]])
    )
    form = alt.Shape("state:N", title="", sort=states, scale=alt.Scale(domain=states, range=["circle", "square"]))
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=90, opacity=1)
    layers.append(dots.encode(x=x, y=y, color=paint, shape=form))
    sides: list[tuple[float, Any, int]] = [(0.0, "right", -10), (1.0, "left", 10)]
    for place, align, shift in sides:
        side = [point for point in points if point["x"] == place]
        names = alt.Chart(alt.Data(values=side)).mark_text(
            align=align, dx=shift, fontSize=12, color=theme.INK, limit=220, clip=False
        )
        layers.append(names.encode(x=x, y=y, text="name:N"))
    chart = alt.layer(*layers).properties(width=spec.get("width", 130), height=height, padding=10)
    return chart.configure(**theme.CONFIG)


def _shown(name: object, strength: float | None) -> str:
    """A name cut to a length that leaves room for the lines, with the strength of its match."""
    text = str(name)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return text if strength is None else f"{text} ({strength:.2f})"
