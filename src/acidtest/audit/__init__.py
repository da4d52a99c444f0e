"""Doubts about results, one small function each."""
