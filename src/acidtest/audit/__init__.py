"""Doubts about a recording, one small function each."""
