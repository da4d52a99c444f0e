#!/usr/bin/env bash
# Runs every suite and closes with one line over all of them. An unexpected skip fails the run.
set -uo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Those that ask nothing of the machine run while the rig's tests are built; the others have it for themselves.
pure=(tests/{analysis,audit,experiment,fuzz,journal,plan,protocol,report})

# A test that hangs is named after a minute, and ends the suite here; pytest has its own limits (pyproject.toml).
timeout --kill-after=60 1800 cargo test --release --locked --workspace --no-fail-fast >"$work/rust" 2>&1 &
rust=$!
.venv/bin/python -m pytest -q --junitxml="$work/pure.xml" "$@" "${pure[@]}" || failed=1
wait $rust || failed=1
cat "$work/rust"
.venv/bin/python -m pytest -q --junitxml="$work/machine.xml" "$@" "${pure[@]/#/--ignore=}" tests || failed=1

.venv/bin/python - "$work" <<'PY' || failed=1
import re, sys
import xml.etree.ElementTree as tree
work = sys.argv[1]
passed = failed = skipped = 0
for line in open(f"{work}/rust"):
    if found := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line):
        passed, failed, skipped = (a + int(b) for a, b in zip((passed, failed, skipped), found.groups()))
for name in ("pure", "machine"):
    try:
        for suite in tree.parse(f"{work}/{name}.xml").getroot().iter("testsuite"):
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
