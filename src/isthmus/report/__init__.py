"""Show: charts and one self-contained HTML page. Both only draw tables that were computed elsewhere."""

from isthmus.report.cluster_page import cluster_card, write_cluster_report
from isthmus.report.page import label_card, write_label_report

__all__ = ["cluster_card", "label_card", "write_cluster_report", "write_label_report"]
