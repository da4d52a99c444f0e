"""What was run: how often, on what was left, after what warm-up. Small kits of every kind, each told and each disclosed."""

from __future__ import annotations

from pathlib import Path

from tables import Kit, RuleOverKits, over_kits, read, rows

TABLE = "# Pages\n\n| pages | TPS |\n|---|---|\n| 8 kB | 11542 |\n| 16 kB | 11234 |\n"
CELLS = "||1 disk|2 disks\n---|---|---\nrandom read|1246|1180\nrandom write|21856|15877\nread write|10229|12256\n"
ONCE = "| Setup | 1st (Mins) | 2nd (Mins) | 3rd (Mins) |\n|---|---|---|---|\n| a | 28 | | |\n| b | 22.4 | | |\n| c | 6 | 7 | 8 |\n"
THRICE = ONCE.replace("28 | | |", "28 | 27 | 29 |").replace("22.4 | | |", "22.4 | 21 | 23 |")
YCSB = "[OVERALL], RunTime(ms), 120000\n[OVERALL], Throughput(ops/sec), {}\n[READ], Operations, 1000\n"
SCRIPT = """#!/bin/bash
DURATION=300
PGBENCH=/usr/lib/postgresql/17/bin/pgbench
load() {{
  $PGBENCH -i -s 100 bench
}}
{first}
for clients in 1 8 64; do
  {within}
  echo "running pgbench -i -s"
  $PGBENCH -c $clients -j 4 -T $DURATION {how} bench | tee out.$clients
done
"""
CALLED = {
    "all.sh": "for n in 1 2 3; do\n  ./fresh.sh\n  ./measure.sh\ndone\n",
    "measure.sh": "pgbench -c 8 -T 300 bench\n",
}


def script(first: str = "load", within: str = ":", how: str = "") -> Kit:
    return {"run.sh": SCRIPT.format(first=first, within=within, how=how)}


# A rule, how severe its finding is, kits of which it speaks and kits of which it does not.
SPOKEN: list[RuleOverKits] = [
    # Nobody knows what figures of a text are: several may be repetitions.
    ("few-repetitions", "note", [{"README.md": text} for text in (TABLE, CELLS, ONCE)], [
        *({"README.md": text} for text in (THRICE, "# Pages\n\nIt reached TPS = 11542.\n")),
        *({"README.md": TABLE} | disclosed for disclosed in (
            {"run.sh": "for n in 1 2 3 4 5; do\n  ./one $n\ndone\n"},
            {"run.sh": "REPEATS=${REPEATS:-5}\n"},
            {"bench.sh": "go test -bench . -count=6\n"},
            {"config.json": '{"rounds": 5, "clients": 8}'},
            {f"out/run{n}.log": f"TPS = 1{n}" for n in (1, 2, 3)},
        )),
        # Moments in names tell repetitions apart, and no kinds.
        {f"out/{engine}/run_rep{n}_2026-01-0{n}_1{n}-07-2{n}.txt": YCSB.format(1000 + n) for engine in "ab" for n in (1, 2, 3)},
    ]),
    ("state-inherited", "note", [script(), {**CALLED, "all.sh": CALLED["all.sh"].replace("  ./fresh.sh\n", "")}], [
        script("", "load"),
        script(how="-S"),
        script(within="createdb -T golden bench"),
        script(within="zfs rollback tank/db@loaded"),
        CALLED | {"fresh.sh": "echo nothing\n", "x/fresh.txt": ""},
        CALLED | {"fresh.sh": "pgbench -i bench\n"},
    ]),
    ("no-warm-up", "note", [script()], [script(within="pgbench -S -T 60 bench # warm-up")]),
]  # fmt: skip

test_a_rule_speaks_of_these_kits_and_not_of_those = over_kits(SPOKEN)


PYTHON = """
import subprocess

def prepare():
    subprocess.run(["pgbench", "-i", "-s", "100", "bench"])

def measure(clients):
    subprocess.run(["pgbench", "-c", str(clients),
                    "-T", "300", "bench"])

def main():
    prepare()
    for clients in (1, 8):
        measure(clients)

main()
"""


# A script, and its steps: what each does, and in how many loops.
@rows(
    *(
        ({"run.sh": text}, [])
        for text in (
            "",
            "#!/bin/bash\n",
            "done\n}\n" * 50,
            "f() {\n" * 200,
            "for x in y; do\n" * 500,
            "f() {\nf\n}\nf\n",
        )
    ),
)
def test_a_script_is_its_steps(files: Kit, steps: list[tuple[str, int]], tmp_path: Path) -> None:
    harnesses = read(tmp_path, files).harnesses
    assert [(step.kind, len(step.loops)) for harnesse in harnesses for step in harnesse.steps] == steps
