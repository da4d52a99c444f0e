"""Samples, summaries, comparisons, steady state; pure."""
