"""Runs one cell; the only package that knows place, engine and plan."""
