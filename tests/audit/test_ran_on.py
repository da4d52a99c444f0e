"""What was run, for how long, on what data and systems: small kits in the layouts of many tools, each faulty and fair."""

from __future__ import annotations

from pathlib import Path

from acidtest.audit import judge
from acidtest.finding import Finding
from tables import Kit, RuleOverKits, over_kits, read, rows

TABLE = "# PostgreSQL\n\n| Clients | TPS |\n|---|---|\n| 8 | 4,100 |\n| 16 | 6,200 |\n"


def found(root: Path, rule: str, files: Kit) -> list[Finding]:
    return [finding for finding in judge.of_bench(read(root, files)) if finding.rule.name == rule]


def script(text: str) -> Kit:
    return {"README.md": TABLE, "run.sh": f"{text}\n"}


@rows(
    ('[ -z "${T:-}" ] && export T="10"\npgbench -c 8 -T $T bench\n', 10),
    (': "${T:=15}"\npgbench -c 8 -T $T bench\n', 15),
    ("T=${1:-20}\npgbench -c 8 --time=${T} bench\n", 20),
    ("T=20;\n$PGBENCH -c 8 -T $T bench\n", 20),
    ('T=20\ntaskset -c 1 "$pgbench" -c 8 -T $T bench\n', 20),
    ("PGBENCH_PATH -c 8 -T 12 bench\n", 12),
    (". ./vars.sh\n$NUMACTL $SYSBENCH --test=oltp.lua --num-threads=8 --max-time=$LASTS run\n", 40),
    ("source $HERE/vars.sh\nsysbench oltp_read_write --threads=8 --time=${LASTS} run\n", 40),
)
def test_how_long_a_run_lasts_is_found_in_variables(text: str, lasts: float, tmp_path: Path) -> None:
    bench = read(tmp_path, script(text) | {"vars.sh": "LASTS=40\n"})
    assert [plan.measured_s for plan in bench.plans] == [lasts]
    assert found(tmp_path, "too-short-run", {})


def test_a_list_of_words_is_a_command(tmp_path: Path) -> None:
    program = (
        "import subprocess\nsubprocess.call(['sudo', BIN + 'pgbench', '-T', '5', '-c', '8', '-j', '2', 'bench'])\n"
    )
    (plan,) = read(tmp_path, {"README.md": TABLE, "bench.py": program}).plans
    assert (plan.measured_s, plan.terminals, plan.threads) == (5.0, 8, 2)


MAC = '{"platform": "darwin", "arch": "arm64", "ops_per_sec": 100}\n'
LINUX = '{"platform": "linux", "arch": "x64", "ops_per_sec": 200}\n'
SYSSTAT = "Linux 5.10.0-8-amd64 (host{n}) \t07/04/2024 \t_x86_64_\t({cpus} CPU)\n\nDevice r/s w/s\n"
GO_TEST = "goos: {system}\ngoarch: {arch}\npkg: bench\ncpu: {cpu}\nBenchmarkInsert-8 \t 1000 \t 48294 ns/op\n"
JOB = "```\nfio --name=seq-write --rw={rw} --bs=4k --size=1g --runtime=60\n```\n"
RUN = "sysbench oltp_read_write --threads=8 --time=600 run\n"
LOAD = "sysbench oltp_read_write --tables=1 prepare\n"
TWICE = "sh one.sh\nsh one.sh\n"


def mounted(image: str, point: str, more: str = "") -> Kit:
    """A service of this image with a volume at ``point``."""
    service = (
        f"    image: {image}\n    environment:\n      - POSTGRES_PASSWORD=x\n{more}    volumes:\n      - data:{point}\n"
    )
    return {"compose.yml": f"services:\n  db:\n{service}volumes:\n  data:\n"}


def programs(*batches: int) -> Kit:
    text = "# benchmark\nBATCH_SIZE = {}\nROWS = 100000\nTHREADS = 8\n"
    return {f"bench_{of}.py": text.format(n) for of, n in zip(("postgres", "mongodb"), batches, strict=True)}


# A rule, how severe its finding is, kits of which it speaks and kits of which it does not.
SPOKEN: list[RuleOverKits] = [
    ("too-short-run", "note", [
    ], [
        script("T=600\n$PGBENCH -c 8 -T $T bench"),
        script(". ./gone.sh\npgbench -c 8 -T $LASTS bench"),
        script("run_pgbench 8 10"),
        script("echo $PGBENCH -c 8 -T 5 bench"),
        script("# $PGBENCH -c 8 -T 5 bench"),
    ]),
    ("generator-threads", "note", [script("pgbench -c 5 -j 6 -T 600 bench")], [
        script("pgbench -c 6 -j 6 -T 600 bench"),
        script("pgbench -c 1 -j 8 bench\npgbench -c 64 -j 8 bench"),
        script("pgbench -c $C -j 8 bench"),
    ]),
    ("system-differs", "note", [
        {"results/node_18.json": MAC, "results/node_20.json": LINUX, "results/node_22.json": LINUX},
        {"a/iostat.res": SYSSTAT.format(n=1, cpus=22), "b/iostat.res": SYSSTAT.format(n=2, cpus=32)},
        {"mysql.txt": GO_TEST.format(system="linux", arch="amd64", cpu="AMD EPYC 7543"), "postgres.txt": GO_TEST.format(system="darwin", arch="arm64", cpu="Apple M2 Pro")},
        {f"{of}.log": f"PostgreSQL 14.1 on {of}, compiled by gcc (GCC) 11, 64-bit\n" for of in ("x86_64-pc-linux-gnu", "aarch64-unknown-linux-gnu")},
    ], [
        {"results/node_18.json": LINUX, "results/node_20.json": LINUX},
        {"results/darwin-arm64.json": MAC, "results/linux-x64.json": LINUX},
        {"results/a.json": LINUX, "package.json": '{"os": "darwin", "cpu": "arm64", "arch": "arm64"}\n'},
        {"a/iostat.res": SYSSTAT.format(n=1, cpus=22), "b/iostat.res": SYSSTAT.format(n=2, cpus=22)},
        {"a.json": LINUX, "b.json": '{"platform": "Linux", "arch": "x86_64"}\n'},
    ]),
    ("volume-mounted-elsewhere", "note", [
        mounted("postgres:16", "/var/lib/postgresql"),
        mounted("postgres:14.2-alpine", "/var/lib"),
        mounted("mysql:8.0", "/var/lib/mysql/data"),
        mounted("mariadb:11", "/var/lib/mysql/mariadb"),
        mounted("mongo:7\n  pg:\n    image: postgres:16", "/var/lib/postgresql"),
    ], [
        mounted("postgres:16", "/var/lib/postgresql/data"),
        mounted("postgres:18", "/var/lib/postgresql"),
        mounted("postgres", "/var/lib/postgresql"),
        mounted("postgres:16", "/var/lib/postgresql", "      - PGDATA=/var/lib/postgresql/pg\n"),
        mounted("postgres:16", "/docker-entrypoint-initdb.d"),
        mounted("bitnami/postgresql:16", "/var/lib/postgresql"),
        mounted("mysql:8.0", "/var/lib/mysql-files"),
        mounted("mysql:8.0", "/srv/mysql", "      - X=1\n    command: --datadir=/srv/mysql\n"),
    ]),
    ("workload-differs", "doubtful", [
        {"drive.md": JOB.format(rw="randwrite")},
    ], [
        {"drive.md": JOB.format(rw="write")},
        {"seq.sh": "fio --name=a --rw=randwrite --bs=4k --size=1g\nfio --name=b --rw=randread --bs=4k --size=1g\n"},
        programs(1000, 1000),
    ]),
    ("database-too-small", "note", [
        script("sysbench oltp_read_write --tables=1 --table-size=100000 --threads=8 --time=600 run"),
        script("ycsb run mongodb -P workloads/workloada -p recordcount=100000 -p operationcount=1"),
        script("pgbench -i -s 5 bench"),
    ], [
        script("sysbench oltp_read_write --tables=32 --table-size=1000000 --threads=8 --time=600 run"),
        script("sysbench oltp_read_write --tables=$TABLES --table-size=1000 --threads=8 --time=600 run"),
        script("ycsb run mongodb -P workloads/workloada -p recordcount=100000000 -p operationcount=1"),
        script("pgbench -i -s 5000 bench"),
        script("pgbench -c 8 -T 600 -s 5 -f own.sql bench"),
    ]),
    ("state-inherited", "note", [{"one.sh": RUN, "load.sh": LOAD, "all.sh": TWICE}], [{"one.sh": LOAD + RUN, "all.sh": TWICE}]),
]  # fmt: skip

test_a_rule_speaks_of_these_kits_and_not_of_those = over_kits(SPOKEN)
