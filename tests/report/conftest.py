"""A browser for the tests of pages, and results that many tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from acidtest.report.results import Results, results
from factory import study
from pages import PATIENCE_MS


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            timeout=PATIENCE_MS,
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def studied() -> Results:
    """Of three engines, two workloads and all levels of durability; nobody changes them."""
    return results(study())
