"""Faults that are planted into a copy of acidtest, to see which tests notice; see README.md."""
