"""Recordings: models, writer, reader. Imports nothing of ours."""

NAME = "journal.jsonl"
CUTS = "cuts.jsonl"  # of power cuts: beside the journal of a run of the same experiment, if there is one
SEARCH = "search.jsonl"  # of searches for the highest rate, likewise
NAMES = (NAME, CUTS, SEARCH)
