"""Show: charts and one self-contained HTML page. Both only draw tables that were computed elsewhere."""

from typing import TYPE_CHECKING

from isthmus._lazy import lazy_names

# Public name -> module. Lazy, so that a sentence about a result loads no chart.
_PUBLIC = {
    "cluster_card": "isthmus.report.cluster_page",
    "label_card": "isthmus.report.page",
    "write_cluster_report": "isthmus.report.cluster_page",
    "write_label_report": "isthmus.report.page",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # for editors and type checkers; at run time __getattr__ does this
    from isthmus.report.cluster_page import cluster_card, write_cluster_report
    from isthmus.report.page import label_card, write_label_report

__getattr__, __dir__ = lazy_names(__name__, _PUBLIC)
