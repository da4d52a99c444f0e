"""Benchmarks: each prints figures and ratios; none is a test."""
