"""Pages opened as a reader would, without a network, and looked at for what nobody could read."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Page

PATIENCE_MS = 300_000  # on a slow machine
WIDE, NARROW = (1280, "light"), (420, "dark")

UNREADABLE = r"""
() => {
  const said = [];
  const shown = (e) => e.getClientRects().length && getComputedStyle(e).opacity !== "0" && e.textContent.trim();
  const named = (e) => `${e.tagName} ${e.getAttribute("class") || e.id || ""} "${e.textContent.trim().slice(0, 40)}"`;
  const beyond = (e, left, right) => {
    const box = e.getBoundingClientRect();
    if (box.right > right + 1 || box.left < left - 1) said.push(`${named(e)} reaches beyond its place`);
  };

  // Nothing is wider than the page; tables and code scroll in boxes of their own, and their captions do not.
  for (const e of document.body.querySelectorAll("*:not(script, style)"))
    if (e.getClientRects().length && !e.closest(".wide table, pre code, svg *")) beyond(e, 0, innerWidth);
  for (const e of document.querySelectorAll(".wide caption")) {
    const box = e.closest(".wide").getBoundingClientRect();
    if (shown(e)) beyond(e, box.left, box.right);
  }

  // The words of a plot lie within it, and on no others.
  for (const svg of document.querySelectorAll(".plot svg")) {
    const place = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(shown);
    for (const e of texts) beyond(e, place.left, place.right);
    const boxes = texts.map((e) => [e, e.getBoundingClientRect()]);
    boxes.forEach(([e, a], n) => {
      for (const [other, b] of boxes.slice(n + 1))
        if (a.left + 1 < b.right && b.left + 1 < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
          said.push(`${named(e)} lies on ${named(other)}`);
    });
  }

  // Marks and legends stand out from the page.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => c / 255);
    const line = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * line(r) + 0.7152 * line(g) + 0.0722 * line(b);
  };
  const back = light(getComputedStyle(document.body).backgroundColor);
  const contrast = (colour) => (Math.max(light(colour), back) + 0.05) / (Math.min(light(colour), back) + 0.05);
  const marks = ".swatch line, .swatch path, .plot svg .role-mark path, .plot svg .role-mark line";
  for (const e of document.querySelectorAll(marks)) {
    const style = getComputedStyle(e);
    const drawn = [style.fill, style.stroke].filter((c) => c !== "none" && c !== "rgba(0, 0, 0, 0)");
    if (e.getClientRects().length && !drawn.some((c) => contrast(c) >= 3)) said.push(`${named(e)} is drawn as ${drawn}`);
  }
  for (const e of document.querySelectorAll(".key, .legend .soft, .plot svg text"))
    if (shown(e)) {
      const style = getComputedStyle(e);
      const colour = e.tagName === "text" ? style.fill : style.color;
      if (contrast(colour) < 4.5) said.push(`${named(e)} is written in ${colour}`);
    }

  // Lines of one plot differ in colour, dash, or the shape of their marks.
  for (const svg of document.querySelectorAll(".plot svg")) {
    const shapes = {};
    for (const e of svg.querySelectorAll(".mark-symbol.role-mark path"))
      (shapes[e.getAttribute("stroke")] ??= new Set()).add(`${e.getAttribute("d")} ${e.getAttribute("fill")}`);
    const looks = {};
    for (const e of svg.querySelectorAll(".mark-line.role-mark path")) {
      const name = (e.getAttribute("aria-label") || "").match(/row: ([^;]*)/)?.[1];
      (looks[`${e.getAttribute("stroke")} ${e.getAttribute("stroke-dasharray")}`] ??= new Set()).add(name);
    }
    for (const [look, names] of Object.entries(looks))
      if (names.size > (shapes[look.split(" ")[0]]?.size ?? 1)) said.push(`${[...names]} are all drawn as ${look}`);
  }
  return [...new Set(said)];
}
"""

# Plots are drawn anew when the window's width changes.
AS_WIDE_AS_ITS_PLACE = """
() => [...document.querySelectorAll(".plot")].every((e) => {
  const drawn = e.querySelector("svg");
  return !e.clientWidth || Math.abs(drawn.getBoundingClientRect().width - e.clientWidth) < 3;
})
"""


def turned(page: Page, width: int, scheme: str) -> None:
    """The page, open already, on a screen of another width and with another colour scheme."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.wait_for_function(AS_WIDE_AS_ITS_PLACE)


def opened(
    browser: Browser, file: Path, width: int = 1280, scheme: str = "light", *, plots: bool = True
) -> tuple[Page, list[str]]:
    """The page with its network cut, and everything that it complained of or tried to fetch."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith("file:") else trouble.append(request.url))
    page.goto(file.as_uri())
    if plots:
        page.wait_for_selector(".plot svg")
        page.wait_for_function("[...document.querySelectorAll('.plot')].every(plot => plot.querySelector('svg'))")
    return page, trouble


def unreadable(page: Page) -> list[str]:
    """What overflows the page, lies on something else, does not stand out from the page, or looks like another row."""
    found: list[str] = page.evaluate(UNREADABLE)
    return found
