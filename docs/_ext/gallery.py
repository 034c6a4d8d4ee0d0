"""What the gallery shows of a script: the charts it draws, as SVG."""

from __future__ import annotations

from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

from isthmus.report.charts import to_svg


class ChartScraper:
    """After each block of a script, save the chart called ``chart``, unless it was saved before."""

    def __init__(self):
        self.shown: dict[str, int] = {}

    def __repr__(self) -> str:
        return "ChartScraper()"  # without the address, or Sphinx would take each build's settings for new ones

    def __call__(self, block, block_vars, gallery_conf) -> str:
        """Called by sphinx-gallery; the text that shows the picture."""
        chart, script = block_vars["example_globals"].get("chart"), block_vars["src_file"]
        if chart is None or self.shown.get(script) == id(chart):
            return ""
        self.shown[script] = id(chart)
        path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
        path.write_text(to_svg(chart), encoding="utf-8")
        return figure_rst([str(path)], gallery_conf["src_dir"])


READING_ORDER = (
    "label", "sentiment_strings", "topics_cocc", "labelled_words", "chinese", "several_sources", "labeller", "groups",
    "diagnose", "shift", "confidence", "check", "reasons", "tune_on_source", "own_estimator",
)  # fmt: skip


class ReadingOrder:
    """First what a newcomer looks for, last what an author of methods does."""

    def __init__(self, src_dir: str):
        self.src_dir = src_dir

    def __call__(self, filename: str) -> int:
        """Place of a script; one that is not listed stops the build."""
        return READING_ORDER.index(Path(filename).stem.removeprefix("plot_"))
