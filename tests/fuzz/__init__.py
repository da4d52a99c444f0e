"""Fuzzing of everything that reads another user's files. ``python -m fuzz --minutes 20`` with tests/ in PYTHONPATH, or
``make fuzz``; see docs/FUZZING.md."""
