#!/usr/bin/env bash
# Runs tests and closes with one line over all of them; an unexpected skip fails the run. CONTRIBUTING.md says more.
#   tests/run.sh [fast|long|durations] [options of pytest]
set -uo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
extent=whole
alone=()
case ${1:-} in fast | long | durations) extent=$1 && shift ;; esac
export ACIDTEST_TESTS=${extent/durations/whole}
cores=$(nproc)
# What Python compiles is kept, whatever the environment says: thousands of commands would compile it again. The workers
# of a first run would compile all tests at the same time, each for itself.
unset PYTHONDONTWRITEBYTECODE
[ -e tests/__pycache__ ] || .venv/bin/python -m pytest -q --collect-only >/dev/null 2>&1

# part NAME OPTIONS...: one run of pytest; how it ended is kept for the last line.
part() {
  local name=$1
  shift
  ACIDTEST_DURATIONS="$work/$name.durations" \
    .venv/bin/python -m pytest -q --durations=15 --durations-min=10 --junitxml="$work/$name.xml" "$@"
  echo $? >"$work/$name.code"
}

# Groups of tests run side by side (tests/groups.py), begun in the order in which they are collected.
beside=(--dist loadgroup --no-loadscope-reorder -n)

if [ $extent = fast ]; then
  part fast "${beside[@]}" "$cores" -m fast "$@"
else
  # A test that hangs is named after a minute, and ends the suite here; pytest has its own limits (pyproject.toml).
  (
    timeout --kill-after=60 1800 cargo test --locked --workspace --no-fail-fast >"$work/rust" 2>&1
    echo $? >"$work/rust.code"
  ) &
  these="not long and "
  [ $extent != long ] || these=
  part beside "${beside[@]}" $((2 * cores)) -m "${these}not alone" "$@" # most of them wait most of the time
  wait
  cat "$work/rust"
  # To collect all tests once more would take seconds.
  [ $# -gt 0 ] || mapfile -t alone < <(grep -rl --include='test_*.py' 'mark\.alone' tests)
  part alone -m "${these}alone" "${alone[@]}" "$@"
fi
if [ $extent = durations ]; then # each test as the least extent runs it that has it
  export ACIDTEST_TESTS=long
  part long-beside "${beside[@]}" $((2 * cores)) -m "long and not alone" "$@"
  part long-alone -m "long and alone" "$@"
  .venv/bin/python tests/durations.py "$work"
fi

.venv/bin/python - "$work" <<'PY'
import re, sys
import xml.etree.ElementTree as tree
from pathlib import Path

passed = failed = skipped = 0
for part in sorted(Path(sys.argv[1]).glob("*.code")):
    bad = 0
    if part.stem == "rust":
        for line in part.with_suffix("").read_text(errors="replace").splitlines():
            if found := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line):
                passed, bad, skipped = (a + int(b) for a, b in zip((passed, bad, skipped), found.groups()))
    else:
        try:
            suites = list(tree.parse(part.with_suffix(".xml")).getroot().iter("testsuite"))
        except (OSError, tree.ParseError):
            suites, bad = [], 1
        for suite in suites:
            tests, failures, errors, left = (int(suite.get(n, 0)) for n in ("tests", "failures", "errors", "skipped"))
            bad += failures + errors
            skipped += left
            passed += tests - failures - errors - left
    # One that was ended, or that could not be built, names no test that failed. 5 is pytest's code for "nothing chosen".
    failed += bad or part.read_text().strip() not in ("0", "5")
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(bool(failed or skipped or not passed))
PY
