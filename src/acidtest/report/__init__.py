"""Terminal tables, the page, pictures."""
