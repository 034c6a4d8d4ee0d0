"""Show: charts and one self-contained HTML page. Both only draw tables that were computed elsewhere."""

from isthmus.report.page import write_label_report

__all__ = ["write_label_report"]
