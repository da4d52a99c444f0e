"""The reference of every key of an experiment: taken from the models and rules that read one, never written twice.

``tables.py`` gathers the keys, ``find.py`` finds those that a user names, ``page.py`` writes docs/EXPERIMENT.md, and
``words.py`` has the words that a shell completes, without importing any of it. ``python -m acidtest.reference`` writes
page and words.
"""
