#!/usr/bin/env bash
# Runs every suite and closes with one line over all of them. An unexpected skip fails the run.
set -uo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

cargo test --release --locked 2>&1 | tee "$work/rust" || failed=1
.venv/bin/python -m pytest -q --junitxml="$work/python.xml" "$@" || failed=1

.venv/bin/python - "$work" <<'PY' || failed=1
import re, sys
import xml.etree.ElementTree as tree
work = sys.argv[1]
passed = failed = skipped = 0
for line in open(f"{work}/rust"):
    if found := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line):
        passed, failed, skipped = (a + int(b) for a, b in zip((passed, failed, skipped), found.groups()))
try:
    for suite in tree.parse(f"{work}/python.xml").getroot().iter("testsuite"):
        count = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
        bad = count["failures"] + count["errors"]
        failed += bad
        skipped += count["skipped"]
        passed += count["tests"] - bad - count["skipped"]
except (OSError, tree.ParseError):
    failed += 1
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(bool(failed or skipped or not passed))
PY
exit $failed
