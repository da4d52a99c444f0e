"""What a kit's files and texts say of settings: kits of which a rule speaks and kits of which it does not."""

from __future__ import annotations

from tables import Kit, RuleOverKits
from written_kits import PGBENCH

RUN = {"results/a.log": PGBENCH.format(rate="400.000000")}
STARTED = {"README.md": "It was fast.\n", "run.sh": "pgbench -c 8 -T 600 bench\n"}
TUNED = "shared_buffers = 8GB\nmax_wal_size = 32GB\nwork_mem = 64MB\n"
WHOLE = TUNED + "".join(f"autovacuum_{name} = 1\n" for name in ("naptime", "max_workers", "vacuum_threshold")) + (
    "random_page_cost = 1.1\ncheckpoint_timeout = 15min\nwal_compression = on\nbgwriter_delay = 20ms\n"
)  # fmt: skip
YCSB = "[OVERALL], RunTime(ms), 100000\n[OVERALL], Throughput(ops/sec), {}\n[READ], Operations, 1000000\n"
STORES = {"results/mongodb/a.txt": YCSB.format(9000), "results/redis/a.txt": YCSB.format(30000)}
RATES = "| Store | inserts/s |\n|---|---|\n| PostgreSQL | 1200 |\n| MongoDB | 1500 |\n"
SERVICES = "services:\n  mongodb:\n    image: mongo:7\n{}  redis:\n    image: redis:7\n{}"
FIO = "fio --name=w --rw=randwrite --bs=8k --size=64G --direct={}\n"
ARGS = "```\n* args:['-c', 'shared_buffers=16GB', '-c', 'autovacuum={}']\n```\n"
OPTIONS = (
    '```\n--no-defaults \\\n--innodb_buffer_pool_size=1024M \\\n--innodb_doublewrite={} \\\n--datadir=$DIR"\n```\n'
)
PAIRS = '<script>\n[[\n"{}",\n"{}"\n],[\n"wal_buffers",\n"512"\n],[\n"max_wal_size",\n"1024"\n],[\n"work_mem",\n"4096"\n],[\n"checkpoint_timeout",\n"300"\n],[\n"shared_buffers",\n"524288"\n]]\n'
TABLE = "| tps | shared_buffers |\n|---|---|\n| 1200 | {} |\n"
ALTER = "ALTER TABLE accounts SET (fillfactor = 90, autovacuum_enabled = {});\n"


MACHINES = "| | a | b |\n|---|---|---|\n| vCPUs | 2 | 2 |\n| {} | {} | {} |\n"
SIZES = "| Engine | inserts/s |\n|---|---|\n| {} | 90000 |\n| MariaDB | 1200 |\n"


def versions(older: str, newer: str) -> Kit:
    services = "".join(f"  pg{n}:\n    image: postgres:{tag}\n" for n, tag in enumerate((older, newer)))
    return RUN | {"compose.yaml": f"services:\n{services}"}


def beside(one: str, other: str) -> Kit:
    """Two configurations, each with a result of its name."""
    return {
        f"{name}/{file}": text
        for name, own in (("plain", one), ("checkpoint_timeout_30min", other))
        for file, text in (("postgresql.conf", own), ("a.log", RUN["results/a.log"]))
    }


SPOKEN: list[RuleOverKits] = [
    ("not-disclosed", "note", [STARTED, STARTED | {"run.sh": FIO.format(1)}], [{"postgresql.conf": TUNED}, {"run.sh": STARTED["run.sh"]}]),
    ("settings-undisclosed", "note", [
        RUN,
        STARTED,
        {"README.md": RATES, "pg/postgresql.conf": TUNED},
        {"old/postgresql.conf": TUNED, "old/a.log": RUN["results/a.log"], "new/a.log": RUN["results/a.log"]},
        {"conf/slow.conf": TUNED, "result-02-fast.conf/a.log": RUN["results/a.log"]},
    ], [
        RUN | {"postgresql.conf": TUNED},
        {"run.sh": FIO.format(1)},
        {"README.md": RATES, "pg/postgresql.conf": TUNED, "run.sh": "mongod --replSet rs0\n"},
        {"old/postgresql.conf": TUNED, "old/a.log": RUN["results/a.log"], "new/postgresql.conf": TUNED, "new/a.log": RUN["results/a.log"]},
        {"conf/fast.conf": TUNED, "result-02-fast.conf/a.log": RUN["results/a.log"]},
    ]),
    ("settings-told-differ", "note",
     [RUN | {"postgresql.conf": TUNED, "README.md": f"# PostgreSQL\n\n```\nshared_buffers = {told} * (Default: 128MB)\nwork_mem = 64MB\n```\n"} for told in ("3221225472 (3G)", "2GB")],
     [RUN | {"postgresql.conf": TUNED, "README.md": "# PostgreSQL\n\n```\nshared_buffers = 8192MB (8G)\nwork_mem = 64MB\n```\n"}]),
    ("setting-unknown", "doubtful",
     [RUN | {"postgresql.conf": f"{TUNED}{name} = 20\n"} for name in ("max_connection", "max_conections", "effective_cache_sizes")],
     [RUN | {"postgresql.conf": f"{TUNED}{name} = 20\n"} for name in ("max_connections", "own.max_connection", "gp_vmem_protect_limit", "lo_compat_privileges", "trace_sort")]),
    ("setting-differs", "note", [
        versions("17.2", "18.1"),
        RUN | {"README.md": f"```\n{WHOLE}```\n\nThen:\n\n```\n{WHOLE.replace('15min', '30min')}```\n"},
    ], [
        versions("16.2", "16.9"),
        RUN | {"README.md": f"```\n{WHOLE}```\n\nThen:\n\n```\n{WHOLE}```\n"},
    ]),
    ("no-difference-in-settings", "note", [beside(WHOLE, WHOLE)], [beside(WHOLE, WHOLE.replace("15min", "30min")), beside(TUNED, TUNED)]),
    ("settings-all-default", "doubtful", [
        STORES | {"compose.yaml": SERVICES.format("", "")},
        STORES | {"compose.yaml": SERVICES.format("    environment:\n      MONGO_INITDB_ROOT_PASSWORD: x\n", "    command: redis-server --maxmemory 4gb\n")},
    ], [
        STORES | {"compose.yaml": SERVICES.format("    command: mongod --wiredTigerCacheSizeGB 4\n", "    volumes:\n      - ./redis.conf:/etc/redis.conf\n")},
        {"results/mongodb/a.txt": YCSB.format(9000), "compose.yaml": SERVICES.format("", "")},
    ]),
    ("autovacuum-off", "doubtful", [RUN | {"report.html": PAIRS.format("autovacuum", "off")}], [RUN | {"report.html": PAIRS.format("autovacuum", "on")}]),
    ("pre-release", "note", [versions("17", "18beta1"), versions("17", "18-rc1-alpine")], [versions("17-alpine", "18-bookworm")]),
    ("autovacuum-off", "doubtful", [RUN | {"README.md": ARGS.format("off")}], [RUN | {"README.md": ARGS.format("on")}]),
    ("autovacuum-off", "note", [RUN | {"run.sh": ALTER.format("false")}], [RUN | {"run.sh": ALTER.format("true")}]),
    ("durability-given-up", "note", [{"README.md": f"# MySQL\n\n{OPTIONS.format(0)}"}], [{"README.md": f"# MySQL\n\n{OPTIONS.format(1)}"}]),
    ("durability-differs", "doubtful", [{"README.md": f"# Read this\n\n{RATES}", "compose.yaml": SERVICES.format("", "  pg:\n    image: postgres:16\n")}], []),
    ("drive-test-through-cache", "note", [{"run.sh": FIO.format(0)}], [{"run.sh": FIO.format(1)}]),
    ("version-differs", "note", [{"README.md": MACHINES.format("SQLite", "3.45.1", "3.51.1")}], [
        {"README.md": MACHINES.format("SQLite", "3.45.1", "3.45.1")},
        {"README.md": MACHINES.format("Seconds", "3.45", "3.51")},
        {"README.md": MACHINES.format("SQLite", "3.45.1", "3.51.1").replace("vCPUs", "Rounds")},
    ]),
    ("system-differs", "note", [
        {"README.md": MACHINES.format("Memory (verified)", "3.9 GB", "~1 TB (host)")},
        {"README.md": "```\nMiB Mem :  64314.6 total,  1.0 free\n```\n\n```\nMiB Mem : 128826.6 total,  1.0 free\n```\n"},
    ], [
        {"README.md": MACHINES.format("Memory (verified)", "3.9 GB", "4.0 GB")},
        {"README.md": MACHINES.format("Memory used", "3.9 GB", "8.0 GB")},
        {"README.md": "```\nMiB Mem :  64314.6 total,  1.0 free\n```\n\n```\nMiB Mem :  64314.6 total,  9.0 free\n```\n"},
    ]),
    ("in-process-against-server", "note", [{"README.md": SIZES.format("SQLite")}], [{"README.md": SIZES.format("PostgreSQL")}]),
    ("version-mislabelled", "doubtful", [{"RUN-mysql_5.6.7": "Server version:      MySQL 5.6.4 m7\n"}], [
        {"RUN-mysql_5.6.4": "Server version:      MySQL 5.6.4 m7\n"},
        {"RUN-mysql_5.6": "Server version:      MySQL 5.6.4 m7\n"},
        {"RUN-mariadb_5.5": "Server version:      MySQL 5.6.4 m7\n"},
    ]),
    ("settings-all-default", "note", [RUN | {"Makefile": "DOCKER ?= docker\nstart:\n\t$(DOCKER) run -d \\\n\t\t-p 1:5432 \\\n\t\tpostgres:14\n"}],
     [RUN | {"Makefile": "DOCKER ?= docker\nstart:\n\t$(DOCKER) run -d \\\n\t\t-p 1:5432 \\\n\t\tpostgres:14 -c shared_buffers=8GB\n"}]),
]  # fmt: skip
