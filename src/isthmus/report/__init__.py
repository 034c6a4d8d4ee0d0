"""Show: charts and one self-contained HTML page. Both only draw tables that were computed elsewhere."""

from isthmus.report.cluster_page import write_cluster_report
from isthmus.report.page import write_label_report

__all__ = ["write_cluster_report", "write_label_report"]
