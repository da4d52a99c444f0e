"""Samples, summaries, comparisons, steady state. Pure: recordings in, figures out."""

SECONDS_NEEDED = 8
REPETITIONS_FOR_INTERVAL = 5
