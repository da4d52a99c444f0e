"""Recordings: models, writer, reader, export. Imports nothing of ours."""
