"""What a person sees: terminal tables and the page. Reads journals only."""

from acidtest.report.page import write_page
from acidtest.report.results import Results, results
from acidtest.report.terminal import print_results

__all__ = ["Results", "print_results", "results", "write_page"]
