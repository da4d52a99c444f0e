"""How good the auditor is: benchmarks of other people, by name and commit, with what an expert says of each.

``cases.py`` reads what the expert says, ``snapshots.py`` lays out the files of a commit, ``score.py`` compares what the
auditor said with it. The rules are developed on ``developed``; ``untouched`` is only measured.
"""
