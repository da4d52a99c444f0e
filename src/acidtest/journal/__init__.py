"""Recordings: models, writer, reader. Imports nothing of ours."""
