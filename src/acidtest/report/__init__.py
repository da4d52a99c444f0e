"""What a person sees: terminal tables and the page. Reads journals only."""
