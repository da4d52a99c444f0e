"""Samples, summaries, comparisons, steady state. Pure: recordings in, figures out."""
