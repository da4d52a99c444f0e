"""Pages opened as a reader would, without a network."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page

PATIENCE_MS = 300_000  # on a slow machine


def opened(browser: Browser, file: Path, width: int = 1280, scheme: str = "light") -> tuple[Page, list[str]]:
    """The page with its network cut, and everything that it complained of or tried to fetch."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else trouble.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector("figure svg")
    page.wait_for_function("[...document.querySelectorAll('figure')].every(f => f.querySelector('svg'))")
    return page, trouble
