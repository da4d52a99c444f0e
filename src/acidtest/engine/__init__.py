"""One module an engine: install, create, configure, read back."""
