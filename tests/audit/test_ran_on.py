"""What was run, for how long, on what data and systems: small kits in the layouts of many tools, each faulty and fair."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.audit import judge
from acidtest.finding import Finding
from written_kits import read

TABLE = "# PostgreSQL\n\n| Clients | TPS |\n|---|---|\n| 8 | 4,100 |\n| 16 | 6,200 |\n"


def found(root: Path, rule: str, files: dict[str, str]) -> list[Finding]:
    return [one for one in judge.of_bench(read(root, files)) if one.rule.name == rule]


@pytest.mark.parametrize(
    ("script", "lasts"),
    [
        ('[ -z "${T:-}" ] && export T="10"\npgbench -c 8 -T $T bench\n', 10),
        (': "${T:=15}"\npgbench -c 8 -T $T bench\n', 15),
        ("T=${1:-20}\npgbench -c 8 --time=${T} bench\n", 20),
        ("T=20;\n$PGBENCH -c 8 -T $T bench\n", 20),
        ('T=20\ntaskset -c 1 "$pgbench" -c 8 -T $T bench\n', 20),
        ("PGBENCH_PATH -c 8 -T 12 bench\n", 12),
        (". ./vars.sh\n$NUMACTL $SYSBENCH --test=oltp.lua --num-threads=8 --max-time=$LASTS run\n", 40),
        ("source $HERE/vars.sh\nsysbench oltp_read_write --threads=8 --time=${LASTS} run\n", 40),
    ],
)
def test_how_long_a_run_lasts_is_found_in_variables(script: str, lasts: float, tmp_path: Path) -> None:
    bench = read(tmp_path, {"README.md": TABLE, "bench.sh": script, "vars.sh": "LASTS=40\n"})
    assert [one.measured_s for one in bench.plans] == [lasts]
    assert found(tmp_path, "too-short-run", {})


def test_a_list_of_words_is_a_command(tmp_path: Path) -> None:
    program = (
        "import subprocess\nsubprocess.call(['sudo', BIN + 'pgbench', '-T', '5', '-c', '8', '-j', '2', 'bench'])\n"
    )
    (plan,) = read(tmp_path, {"README.md": TABLE, "bench.py": program}).plans
    assert (plan.measured_s, plan.terminals, plan.threads) == (5.0, 8, 2)


@pytest.mark.parametrize(
    "script",
    [
        "T=600\n$PGBENCH -c 8 -T $T bench\n",
        ". ./gone.sh\npgbench -c 8 -T $LASTS bench\n",
        "run_pgbench 8 10\n",
        "echo $PGBENCH -c 8 -T 5 bench\n",
        "# $PGBENCH -c 8 -T 5 bench\n",
    ],
)
def test_no_run_that_is_known_to_be_short(script: str, tmp_path: Path) -> None:
    assert not found(tmp_path, "too-short-run", {"README.md": TABLE, "bench.sh": script})


def test_the_default_of_a_program_is_a_note(tmp_path: Path) -> None:
    program = (
        "parser.add_argument('--duration', default=30)\nparser.add_argument('--concurrency', default=4)\n# benchmark\n"
    )
    table = TABLE.replace("TPS", "PostgreSQL (TPS)")
    (one,) = found(tmp_path, "too-short-run", {"README.md": table, "bench.py": program})
    assert one.severity == "note"


def test_threads_that_have_no_client(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "generator-threads", {"README.md": TABLE, "run.sh": "pgbench -c 5 -j 6 -T 600 bench\n"})
    assert "6 threads are asked for, and there are 5 clients" in one.text


@pytest.mark.parametrize(
    "script",
    [
        "pgbench -c 6 -j 6 -T 600 bench\n",
        "pgbench -c 1 -j 8 bench\npgbench -c 64 -j 8 bench\n",
        "pgbench -c $C -j 8 bench\n",
    ],
)
def test_threads_that_have_one(script: str, tmp_path: Path) -> None:
    assert not found(tmp_path, "generator-threads", {"README.md": TABLE, "run.sh": script})


MAC = '{"platform": "darwin", "arch": "arm64", "ops_per_sec": 100}\n'
LINUX = '{"platform": "linux", "arch": "x64", "ops_per_sec": 200}\n'
SYSSTAT = "Linux 5.10.0-8-amd64 (host{n}) \t07/04/2024 \t_x86_64_\t({cpus} CPU)\n\nDevice r/s w/s\n"
GO_TEST = "goos: {system}\ngoarch: {arch}\npkg: bench\ncpu: {cpu}\nBenchmarkInsert-8 \t 1000 \t 48294 ns/op\n"


@pytest.mark.parametrize(
    "files",
    [
        {"results/node_18.json": MAC, "results/node_20.json": LINUX, "results/node_22.json": LINUX},
        {"a/iostat.res": SYSSTAT.format(n=1, cpus=22), "b/iostat.res": SYSSTAT.format(n=2, cpus=32)},
        {
            "mysql.txt": GO_TEST.format(system="linux", arch="amd64", cpu="AMD EPYC 7543"),
            "postgres.txt": GO_TEST.format(system="darwin", arch="arm64", cpu="Apple M2 Pro"),
        },
        {
            "x.log": "PostgreSQL 14.1 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 11, 64-bit\n",
            "y.log": "PostgreSQL 14.1 on aarch64-unknown-linux-gnu, compiled by gcc (GCC) 11, 64-bit\n",
        },
    ],
)
def test_results_of_different_systems(files: dict[str, str], tmp_path: Path) -> None:
    (one,) = found(tmp_path, "system-differs", files)
    assert one.severity == "note"
    assert {said.file for said in one.evidence} <= files.keys()


@pytest.mark.parametrize(
    "files",
    [
        {"results/node_18.json": LINUX, "results/node_20.json": LINUX},
        {"results/darwin-arm64.json": MAC, "results/linux-x64.json": LINUX},
        {"results/a.json": LINUX, "package.json": '{"os": "darwin", "cpu": "arm64", "arch": "arm64"}\n'},
        {"a/iostat.res": SYSSTAT.format(n=1, cpus=22), "b/iostat.res": SYSSTAT.format(n=2, cpus=22)},
        {"a.json": '{"platform": "linux", "arch": "x64"}\n', "b.json": '{"platform": "Linux", "arch": "x86_64"}\n'},
    ],
)
def test_results_of_one_system_or_of_those_that_are_told(files: dict[str, str], tmp_path: Path) -> None:
    assert not found(tmp_path, "system-differs", files)


COMPOSE = "services:\n  db:\n    image: {image}\n    environment:\n      - POSTGRES_PASSWORD=x\n{more}    volumes:\n      - data:{point}\nvolumes:\n  data:\n"


@pytest.mark.parametrize(
    ("image", "point"),
    [
        ("postgres:16", "/var/lib/postgresql"),
        ("postgres:14.2-alpine", "/var/lib"),
        ("mysql:8.0", "/var/lib/mysql/data"),
        ("mariadb:11", "/var/lib/mysql/mariadb"),
        ("mongo:7\n  pg:\n    image: postgres:16", "/var/lib/postgresql"),
    ],
)
def test_a_volume_beside_the_data(image: str, point: str, tmp_path: Path) -> None:
    files = {"compose.yml": COMPOSE.format(image=image, point=point, more="")}
    (one,) = found(tmp_path, "volume-mounted-elsewhere", files)
    assert point in one.text


@pytest.mark.parametrize(
    ("image", "point", "more"),
    [
        ("postgres:16", "/var/lib/postgresql/data", ""),
        ("postgres:18", "/var/lib/postgresql", ""),
        ("postgres", "/var/lib/postgresql", ""),
        ("postgres:16", "/var/lib/postgresql", "      - PGDATA=/var/lib/postgresql/pg\n"),
        ("postgres:16", "/docker-entrypoint-initdb.d", ""),
        ("bitnami/postgresql:16", "/var/lib/postgresql", ""),
        ("mysql:8.0", "/var/lib/mysql", ""),
        ("mysql:8.0", "/var/lib/mysql-files", ""),
        ("mysql:8.0", "/srv/mysql", "      - X=1\n    command: --datadir=/srv/mysql\n"),
    ],
)
def test_a_volume_at_the_data_or_far_from_them(image: str, point: str, more: str, tmp_path: Path) -> None:
    files = {"compose.yml": COMPOSE.format(image=image, point=point, more=more)}
    assert not found(tmp_path, "volume-mounted-elsewhere", files)


POD = """apiVersion: apps/v1
kind: {kind}
metadata:
  name: db
spec:
  template:
    spec:
      containers:
        - name: db
          image: postgres:16
          volumeMounts:
            - name: {name}
              mountPath: {point}
      volumes:
        - name: data
          persistentVolumeClaim: {{claimName: data}}
        - name: empty
          emptyDir: {{}}
"""


@pytest.mark.parametrize(("name", "point"), [("empty", "/var/lib/postgresql/data"), ("data", "/backup")])
def test_data_that_go_with_their_pod(name: str, point: str, tmp_path: Path) -> None:
    files = {"db.yaml": POD.format(kind="Deployment", name=name, point=point)}
    assert found(tmp_path, "data-in-container-layer", files)


@pytest.mark.parametrize(("name", "point"), [("data", "/var/lib/postgresql/data"), ("data", "/var/lib/postgresql"), ("claimed", "/var/lib/postgresql/data")])  # fmt: skip
def test_data_that_outlive_it(name: str, point: str, tmp_path: Path) -> None:
    files = {"db.yaml": POD.format(kind="StatefulSet", name=name, point=point)}
    assert not found(tmp_path, "data-in-container-layer", files)


K6 = "import http from 'k6/http';\nimport { sleep } from 'k6';\nexport const options = { vus: 100, duration: '5m' };\n"
K6 += "export default function () {\n  http.get('http://app');\n  sleep(1);\n}\n"
LOCUST = "from locust import HttpUser, task, between\nclass User(HttpUser):\n    wait_time = between(1, 3)\n"
JMX = '<ConstantTimer guiclass="x" testclass="ConstantTimer" testname="think" enabled="true">\n'
RPS = "# Web\n\n| server | requests/s |\n|---|---|\n| PostgreSQL | 4,100 |\n| MySQL | 3,000 |\n"


@pytest.mark.parametrize("files", [{"k6/load.js": K6}, {"locustfile.py": LOCUST}, {"plan.jmx": JMX}])
def test_users_that_think(files: dict[str, str], tmp_path: Path) -> None:
    (one,) = found(tmp_path, "think-time-in-the-rate", {"README.md": RPS, **files})
    assert one.severity == "note"


@pytest.mark.parametrize(
    "files",
    [
        {"k6/load.js": K6.replace("  sleep(1);\n", "")},
        {"k6/load.js": K6.replace("  sleep(1);", "  // sleep(1);")},
        {"k6/load.js": K6.replace("sleep(1)", "sleep(0)")},
        {"k6/load.js": K6.replace("vus: 100", "executor: 'constant-arrival-rate', rate: 100")},
        {"locustfile.py": LOCUST.replace("between(1, 3)", "constant(0)")},
        {"plan.jmx": JMX.replace('enabled="true"', 'enabled="false"')},
        {"wait.js": "await sleep(1000);\n"},
    ],
)
def test_users_that_do_not(files: dict[str, str], tmp_path: Path) -> None:
    assert not found(tmp_path, "think-time-in-the-rate", {"README.md": RPS, **files})


OF_K6 = """     script: load.js
     scenarios: (100.00%) 1 scenario, {vus} max VUs, 5m30s max duration
     http_req_duration..............: avg=7.13ms min=3.1ms med=7.04ms max=43.31ms p(90)=8.83ms p(95)=10ms
     http_reqs......................: 50000 139.004581/s
     vus_max........................: {vus} min={vus} max={vus}
"""


def test_results_that_are_not_of_the_script_as_it_stands(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "workload-differs", {"k6/load.js": K6, "k6/out.txt": OF_K6.format(vus=1)})
    assert "100 virtual users" in one.text
    assert {said.file for said in one.evidence} == {"k6/load.js", "k6/out.txt"}


def test_results_that_are_of_it(tmp_path: Path) -> None:
    assert not found(tmp_path, "workload-differs", {"k6/load.js": K6, "k6/out.txt": OF_K6.format(vus=100)})
    by_variable = K6.replace("vus: 100", "vus: __ENV.VUS || 100")
    assert not found(tmp_path, "workload-differs", {"k6/load.js": by_variable, "k6/out.txt": OF_K6.format(vus=1)})


def test_a_job_that_is_called_what_it_is_not(tmp_path: Path) -> None:
    job = "```\nfio --name=seq-write --rw={rw} --bs=4k --size=1g --runtime=60\n```\n"
    assert found(tmp_path, "workload-differs", {"drive.md": job.format(rw="randwrite")})
    assert not found(tmp_path, "workload-differs", {"drive.md": job.format(rw="write")})


def test_a_file_of_several_jobs_is_called_nothing(tmp_path: Path) -> None:
    jobs = "fio --name=a --rw=randwrite --bs=4k --size=1g\nfio --name=b --rw=randread --bs=4k --size=1g\n"
    assert not found(tmp_path, "workload-differs", {"seq.sh": jobs})


def test_programs_that_ask_for_another_load_on_each_side(tmp_path: Path) -> None:
    program = "# benchmark\nBATCH_SIZE = {batch}\nROWS = 100000\nTHREADS = 8\n"
    files = {"bench_postgres.py": program.format(batch=1000), "bench_mongo.py": program.format(batch=1)}
    files = {name.replace("mongo", "mongodb"): text for name, text in files.items()}
    (one,) = found(tmp_path, "workload-differs", files)
    assert (one.severity, one.certainty) == ("doubtful", "guessed")
    assert "1 with mongodb" in one.text
    alike = {name: program.format(batch=1000) for name in files}
    assert not found(tmp_path, "workload-differs", alike)


SETUP = "import Database from 'better-sqlite3';\nexport function setup(path) {\n  const db = new Database(path);\n"
SETUP += "  db.pragma('journal_mode = WAL');\n  db.pragma('PRAGMA');\nMORE  db.close();\n}\n"
WORKER = "import Database from 'better-sqlite3';\nconst db = new Database(path);\ndb.pragma('busy_timeout = 2000');\n"


def set_up(pragma: str, more: str = "") -> str:
    return SETUP.replace("PRAGMA", pragma).replace("MORE", more)


def test_a_setting_of_a_connection_that_is_closed_again(tmp_path: Path) -> None:
    files = {"wal/setup.ts": set_up("synchronous = NORMAL"), "wal/worker.ts": WORKER}
    (one,) = found(tmp_path, "setting-not-in-force", files)
    assert one.severity == "doubtful"
    assert "wal/worker.ts another one is opened without it" in one.text


@pytest.mark.parametrize(
    ("pragma", "more", "worker"),
    [
        ("synchronous = NORMAL", "", WORKER.replace("busy_timeout = 2000", "synchronous = NORMAL")),
        ("synchronous = NORMAL", "  db.prepare('INSERT INTO t VALUES (1)').run();\n", WORKER),
        ("journal_size_limit = 1", "", WORKER),
        ("synchronous = NORMAL", "", "export const nothing = 1;\n"),
    ],
)
def test_a_setting_that_holds_or_stays(pragma: str, more: str, worker: str, tmp_path: Path) -> None:
    files = {"wal/setup.ts": set_up(pragma, more), "wal/worker.ts": worker}
    assert not found(tmp_path, "setting-not-in-force", files)


POOL = 'package main\n\nfunc open() {{\n\tdb, _ := sql.Open("sqlite3", "{address}")\n{more}\tdb.Exec(`PRAGMA synchronous = OFF`)\n}}\n'


def test_a_setting_of_one_connection_of_a_pool(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "setting-not-in-force", {"db.go": POOL.format(address="a.db", more="")})
    assert one.severity == "note"


@pytest.mark.parametrize(
    ("address", "more"), [("a.db", "\tdb.SetMaxOpenConns(1)\n"), ("a.db?_pragma=synchronous(0)", "")]
)
def test_a_setting_of_all_connections(address: str, more: str, tmp_path: Path) -> None:
    assert not found(tmp_path, "setting-not-in-force", {"db.go": POOL.format(address=address, more=more)})


@pytest.mark.parametrize(
    ("command", "small"),
    [
        ("sysbench oltp_read_write --tables=1 --table-size=100000 --threads=8 --time=600 run", True),
        ("sysbench oltp_read_write --tables=32 --table-size=1000000 --threads=8 --time=600 run", False),
        ("sysbench oltp_read_write --tables=$TABLES --table-size=1000 --threads=8 --time=600 run", False),
        ("ycsb run mongodb -P workloads/workloada -p recordcount=100000 -p operationcount=1", True),
        ("ycsb run mongodb -P workloads/workloada -p recordcount=100000000 -p operationcount=1", False),
        ("pgbench -i -s 5 bench", True),
        ("pgbench -i -s 5000 bench", False),
        ("pgbench -c 8 -T 600 -s 5 -f own.sql bench", False),
    ],
)
def test_data_that_any_cache_holds(command: str, small: bool, tmp_path: Path) -> None:
    said = found(tmp_path, "database-too-small", {"README.md": TABLE, "run.sh": f"{command}\n"})
    assert bool(said) is small
    assert all(one.severity == "note" for one in said)


def test_scripts_that_are_called_again_inherit_what_they_left(tmp_path: Path) -> None:
    one = "sysbench oltp_read_write --threads=8 --time=600 run\n"
    load = "sysbench oltp_read_write --tables=1 prepare\n"
    (said,) = found(tmp_path, "state-inherited", {"one.sh": one, "load.sh": load, "all.sh": "sh one.sh\nsh one.sh\n"})
    assert {seen.file for seen in said.evidence} == {"one.sh", "load.sh", "all.sh"}


def test_scripts_that_load_before_each_call_inherit_nothing(tmp_path: Path) -> None:
    files = {"one.sh": "sysbench oltp_read_write --tables=1 prepare\nsysbench oltp_read_write --threads=8 --time=600 run\n",
             "all.sh": "sh one.sh\nsh one.sh\n"}  # fmt: skip
    assert not found(tmp_path, "state-inherited", files)
