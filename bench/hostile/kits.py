"""The directories. Each is made by a function of the empty directory that it fills."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import socket
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.hostile import texts
from bench.hostile.texts import TEXTS

Make = Callable[[Path], None]
Meanwhile = Callable[[Path, int], None]  # the directory, and the how manieth time it is called

MB = 1 << 20
GB = 1 << 30
LARGE = 200 * MB
LINE = 10 * MB
CLEAN, WRONG, NOTHING = 0, 1, 2  # exit codes
READ = (CLEAN, WRONG)
ANY = (CLEAN, WRONG, NOTHING)
README = b"# A benchmark\n\nPostgreSQL was 40 % faster than MySQL, on a server with 32 GB of RAM.\n"
CONFIGURATION = b"shared_buffers = 128MB\nfsync = off\nwork_mem = 64MB\nmax_wal_size = 4GB\nwal_level = minimal\n"


@dataclass(frozen=True)
class Kit:
    name: str
    make: Make
    exit_codes: tuple[int, ...] = READ
    meanwhile: Meanwhile | None = None


# ------------------------------------------------------------------------------------------------------- directories


def nested(depth: int, root: Path) -> None:
    """Folders within folders, deeper than a path may be long, and a configuration in the last."""
    at = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("folder", dir_fd=at)
        below = os.open("folder", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    written = os.open("postgresql.conf", os.O_WRONLY | os.O_CREAT, dir_fd=at)
    os.write(written, CONFIGURATION)
    os.close(written)
    os.close(at)


def many_files(count: int, name: str, content: bytes, root: Path) -> None:
    for n in range(count):
        folder = root / f"{n // 1000:03}"
        folder.mkdir(exist_ok=True)
        (folder / name.format(n=n)).write_bytes(content.replace(b"{n}", str(n).encode()))


def many_sides(count: int, root: Path) -> None:
    for n in range(count):
        folder = root / f"postgresql-{n}"
        folder.mkdir()
        (folder / "postgresql.conf").write_bytes(CONFIGURATION + b"max_connections = %d\n" % (n + 100))
        (folder / "pgbench.txt").write_text(texts.pgbench_summary(n), encoding="utf-8")


def folders(count: int, root: Path) -> None:
    for n in range(count):
        (root / f"{n:06}").mkdir()


# ------------------------------------------------------------------------------------------------------------- files


def large(kind: str, root: Path) -> None:
    texts.write(root / TEXTS[kind][0], TEXTS[kind], LARGE)


def long_lines(kind: str, root: Path) -> None:
    """The first line as it should be, the next one of 10 MB without an end, the next of 10 MB of spaces."""
    name, begin, line, end = TEXTS[kind]
    ordinary = line(0)
    joined = "".join(map(line, range(20_000))).replace("\n", " ")
    joined *= LINE // len(joined) + 1
    with (root / name).open("w", encoding="utf-8") as file:
        file.write(begin + ordinary + ordinary.rstrip("\n") + joined + "\n" + " " * LINE + "\n" + ordinary + end)


def sparse(name: str, begin: bytes, size: int, root: Path) -> None:
    with (root / name).open("wb") as file:
        file.write(begin)
        file.truncate(size)


def dotted(root: Path) -> None:
    """A sparse file with a page of data at each megabyte."""
    with (root / "postgresql.log").open("wb") as file:
        for n in range(4096):
            file.seek(n * MB)
            file.write(texts.postgresql_log(n).encode())


def of_bytes(name: str, content: bytes, root: Path) -> None:
    (root / name).write_bytes(content)


def readme(root: Path) -> None:
    texts.write(root / "README.md", TEXTS["prose"], 5 * MB)


MARKDOWN = (
    "> " * 2_000, "- " * 2_000, "*a **" * 200_000, "[" * 200_000, "<!--" * 100_000, "`" * 200_000, "| a " * 100_000,
    "|" * 300_000, "\\" * 300_000, "&#" * 200_000, "![" * 200_000, "    " * 100_000, "[a](" * 100_000, "_a_" * 100_000,
    "<a " * 100_000, "`" * 18 + "a\n" * 100_000,
)  # fmt: skip


def nested_markdown(root: Path) -> None:
    for n, one in enumerate(MARKDOWN):
        (root / f"{n}.md").write_text(f"# 40 % faster\n\n{one}\n\n{one}\n", encoding="utf-8")


def chained(root: Path) -> None:
    """0.6 MB of procedures that hand a random value through variables, from the last to the first."""
    declared = "\n".join(f"  DECLARE VARIABLE V{n} INTEGER;" for n in range(902))
    chain = "\n".join(f"  V{n + 1} = V{n} + V{n * 7 % 900};" for n in reversed(range(900)))
    body = f"{declared}\nBEGIN\n  V0 = RAND();\n{chain}\n  UPDATE T SET A = 1 WHERE ID = :V900;\nEND^\n"  # noqa: S608
    procedures = [f"CREATE PROCEDURE P{n} AS\n{body}" for n in range(20)]
    (root / "procedures.sql").write_text("SET TERM ^ ;\n" + "\n".join(procedures), encoding="utf-8")


def calling(root: Path) -> None:
    """Procedures that call one another, each many times."""
    made = [
        f"CREATE FUNCTION F{n}() RETURNS INT AS $$ BEGIN {f'x := F{n + 1}(); ' * 40} RETURN random(); END $$;\n"
        for n in range(2000)
    ]
    (root / "functions.sql").write_text("".join(made), encoding="utf-8")


def including(root: Path) -> None:
    """Configurations that include one another, in a chain, a loop and a tree that doubles."""
    for n in range(3000):
        (root / f"c{n}.conf").write_text(
            f"include 'c{n + 1}.conf'\nwork_mem = {n}MB\nshared_buffers = 1GB\n", encoding="utf-8"
        )
    (root / "postgresql.conf").write_text(
        "include 'c0.conf'\ninclude 'postgresql.conf'\ninclude_dir '.'\nfsync = off\n", encoding="utf-8"
    )
    for n in range(40):
        (root / f"m{n}.cnf").write_text(
            f"[mysqld]\n!include m{n + 1}.cnf\n!include m{n + 1}.cnf\nsync_binlog = {n}\n", encoding="utf-8"
        )
    (root / "my.cnf").write_text(
        "[mysqld]\n!include m0.cnf\n!includedir .\ninnodb_flush_log_at_trx_commit = 0\n", encoding="utf-8"
    )


def archives(root: Path) -> None:
    zeros = b"\0" * (64 * MB)
    (root / "results.csv.gz").write_bytes(gzip.compress(zeros, 1) * 32)
    (root / "run.log.xz").write_bytes(lzma.compress(zeros, preset=0) * 16)
    (root / "run.log.bz2").write_bytes(bz2.compress(zeros, 1) * 16)
    for name, inner in (("results.xlsx", "xl/sheet1.xml"), ("results.ods", "content.xml"), ("jmeter.zip", "a.jtl")):
        with zipfile.ZipFile(root / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for n in range(16):
                archive.writestr(f"{inner}.{n}" if n else inner, zeros)
    (root / "README.md").write_bytes(README)


CODINGS = (
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-7", "latin-1",
    "cp1252", "cp437", "koi8-r", "shift_jis", "gb18030", "big5", "euc_kr", "iso2022_jp", "cp037", "cp500",
)  # fmt: skip


def codings(root: Path) -> None:
    """Each kind of text in every encoding, with wrong bytes in the middle, and cut in the middle of a character."""
    for coding in CODINGS:
        for kind, text in TEXTS.items():
            said = text[1] + "".join(map(text[2], range(20))) + text[3]
            folder = root / coding / kind.replace(" ", "-")
            folder.mkdir(parents=True)
            raw = said.replace("a ", "Größe 性能 ").encode(coding, "replace")
            (folder / text[0]).write_bytes(raw)
            (folder / f"cut-{text[0]}").write_bytes(raw[: len(raw) * 2 // 3 | 1])
            (folder / f"wrong-{text[0]}").write_bytes(
                raw[: len(raw) // 2] + b"\xff\xfe\x00\xd8\x80" + raw[len(raw) // 2 :]
            )


# ------------------------------------------------------------------------------------------------ what is no file


def no_files(root: Path) -> None:
    os.mkfifo(root / "postgresql.conf")
    os.mkfifo(root / "README.md")
    with suppress(PermissionError):
        for n, (kind, of) in enumerate(((stat.S_IFCHR, (1, 5)), (stat.S_IFCHR, (1, 3)), (stat.S_IFBLK, (7, 0)))):
            os.mknod(root / f"device-{n}.log", kind | 0o600, os.makedev(*of))
    before = Path.cwd()
    os.chdir(root)  # the name of a socket may have 107 bytes
    socket.socket(socket.AF_UNIX).bind("mysqld.sock")
    os.chdir(before)
    (root / "loop").symlink_to("loop")
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "up").symlink_to("..")
    (root / "my.cnf").symlink_to("/dev/zero")
    (root / "root").symlink_to("/")


def links_into_itself(root: Path) -> None:
    (root / "README.md").write_bytes(README)
    for n in range(2000):
        (root / f"again-{n}").symlink_to(".")


NAMES = (
    b"\x1b[2J\x1b]0;title\x07.log", b"new\nline.conf", b"caf\xe9.md", b"\xff\xfea.md", "\u202egnp.md".encode(),
    b"x" * 255,
    "größe.md".encode("utf-16-le").replace(b"\0", b"\x01"), b"-rf.md", b"..md", b" .md", b"a:b.md", b"%00.md",
    b"'\"`$(x).md", "性能.md".encode(), b"CON", b"\\server\\share.conf", b"\x01\x02\x03", "e\u0301".encode() * 60,
    b"[bold].md", b"a\tb.md", "\ufeffa.md".encode(),
)  # fmt: skip


def names(root: Path) -> None:
    for raw in NAMES:
        (root / os.fsdecode(raw)).write_bytes(README + CONFIGURATION)
        folder = root / os.fsdecode(raw[:200] + b".d")
        folder.mkdir()
        (folder / os.fsdecode(raw)).write_bytes(CONFIGURATION)
        (folder / "pgbench.txt").write_text(texts.pgbench_summary(1), encoding="utf-8")


def long_names(root: Path) -> None:
    """Names of 255 bytes, 12 folders deep: 3 KB each."""
    at = root
    for _ in range(12):
        at = at / ("x" * 255)
        at.mkdir()
    descriptor = os.open(at, os.O_RDONLY)
    for n in range(20_000):
        os.close(os.open(f"{n:0>250}.conf", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


def closed(root: Path) -> None:
    """Folders and files that nobody but root may read; root reads them."""
    (root / "postgresql.conf").write_bytes(CONFIGURATION)
    (root / "folder").mkdir()
    (root / "folder" / "my.cnf").write_bytes(b"[mysqld]\nsync_binlog = 0\n")
    (root / "postgresql.conf").chmod(0)
    (root / "folder").chmod(0)


# ----------------------------------------------------------------------------------- what changes while it is read


def changing(root: Path) -> None:
    """A kit that takes a while to read, of every kind."""
    for kind, text in TEXTS.items():
        folder = root / kind.replace(" ", "-")
        folder.mkdir()
        texts.write(folder / text[0], text, MB)
    (root / "README.md").write_bytes(README)


def every_file(root: Path) -> Iterator[Path]:
    for kind, text in TEXTS.items():
        yield root / kind.replace(" ", "-") / text[0]


def grow(root: Path, _: int) -> None:
    for path in every_file(root):
        if path.stat().st_size < GB:
            with path.open("ab") as file:
                file.write(texts.postgresql_log(1).encode() * 10_000)


def replace(root: Path, round_: int) -> None:
    """Another file under its name, one after the other of every kind."""
    paths = list(every_file(root))
    for n, path in enumerate(paths):
        other = paths[(n + round_) % len(paths)]
        new = path.with_name("new")
        with suppress(OSError):
            shutil.copyfile(other, new)
            new.replace(path)


def remove(root: Path, round_: int) -> None:
    for path in every_file(root):
        with suppress(OSError):
            path.unlink()
        time.sleep(0.002)
        with suppress(OSError):
            path.write_bytes(b"progress: 1.0 s, 10.0 tps, lat 1.1 ms stddev 0.1\n" * 1000)


def shorten(root: Path, round_: int) -> None:
    for path in every_file(root):
        os.truncate(path, 0)
        time.sleep(0.001)
        os.truncate(path, MB)


def turn(root: Path, round_: int) -> None:
    """A file becomes a folder, a FIFO, a link; and one again."""
    for n, path in enumerate(every_file(root)):
        with suppress(OSError):
            path.unlink()
        (Path.mkdir, os.mkfifo, partial(Path.symlink_to, target="/dev/zero"))[n % 3](path)
        time.sleep(0.002)
        path.rmdir() if n % 3 == 0 else path.unlink()
        path.write_bytes(CONFIGURATION * 1000)


def move(root: Path, round_: int) -> None:
    """Folders that go away and come back under another's name."""
    for path in every_file(root):
        with suppress(OSError):
            path.parent.rename(root / "elsewhere")
            time.sleep(0.002)
            (root / "elsewhere").rename(path.parent)


def one_log(root: Path) -> None:
    texts.write(root / "postgresql.log", TEXTS["PostgreSQL log"], 16 * MB)


def grow_log(root: Path, _: int) -> None:
    with (root / "postgresql.log").open("ab") as file:
        file.write(texts.postgresql_log(1).encode() * 10_000)


SPARSE = {
    "postgres": b"\x7fELF\x02\x01\x01",
    "firebird.exe": b"MZ",
    "notes.txt": README,
    "orders.fdb": b"\x01\0\x39\x30",
    "postgresql.conf": CONFIGURATION,
    "run.json": b'{"tps": [1,',
    "values.yaml": b"server:\n  fsync: off\n",
    "load.sql": b"UPDATE t SET a = random();\n",
    "pgbench.out": texts.pgbench_progress(1).encode(),
    "results.csv": b"engine,tps\nmysql,5\n",
}
KITS: tuple[Kit, ...] = (
    Kit("nothing", lambda root: None, (NOTHING,)),
    Kit("90 folders nested", partial(nested, 90)),
    Kit("5,000 folders nested", partial(nested, 5000), (NOTHING,)),
    Kit("100,000 folders", partial(folders, 100_000), (NOTHING,)),
    Kit("100,000 configurations", partial(many_files, 100_000, "{n}.conf", CONFIGURATION)),
    Kit("100,000 texts", partial(many_files, 100_000, "{n}.md", README)),
    Kit("100,000 results", partial(many_files, 100_000, "{n}.txt", texts.pgbench_summary(1).encode())),
    Kit("100,000 scripts", partial(many_files, 100_000, "{n}.sh", texts.shell(1).encode())),
    Kit("100,000 YAML files", partial(many_files, 100_000, "{n}.yaml", texts.yaml(1).encode())),
    Kit("100,000 of no kind", partial(many_files, 100_000, "{n}", b"\0\1\2{n}"), (NOTHING,)),
    Kit("3,000 engines", partial(many_sides, 3000)),
    *(Kit(f"200 MB: {kind}", partial(large, kind)) for kind in TEXTS),
    *(Kit(f"lines of 10 MB: {kind}", partial(long_lines, kind), ANY) for kind in TEXTS),
    *(Kit(f"sparse, {size}: {name}", partial(sparse, name, begin, bytes_), ANY) for name, begin in SPARSE.items()
      for size, bytes_ in (("1 GiB", GB), ("100 GiB", 100 * GB))),
    Kit("sparse, with data in each MB", dotted),
    Kit("a README of 5 MB", readme),
    Kit("Markdown that nests", nested_markdown),
    Kit("chained procedures", chained),
    Kit("functions that call one another", calling),
    Kit("configurations that include one another", including),
    Kit("archives that grow", archives),
    Kit("every encoding", codings),
    Kit("FIFOs, devices, a socket, links", no_files, (NOTHING,)),
    Kit("links into itself", links_into_itself),
    Kit("names", names),
    Kit("names of 3 KB", long_names, ANY),
    Kit("closed to its reader", closed),
    Kit("24 MB of many kinds", changing),
    Kit("grows while it is read", one_log, meanwhile=grow_log),
    Kit("all of it grows while it is read", changing, meanwhile=grow),
    Kit("replaced while it is read", changing, meanwhile=replace),
    Kit("removed while it is read", changing, meanwhile=remove),
    Kit("cut off while it is read", changing, meanwhile=shorten),
    Kit("turns into something else", changing, meanwhile=turn),
    Kit("moves while it is read", changing, meanwhile=move),
)  # fmt: skip
