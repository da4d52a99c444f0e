"""A fleet's file is read, or refused in lines that name file, key and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidtest.errors import BadInput
from acidtest.fleet.spec import read


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    return path


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    spec = read(
        written(
            tmp_path,
            'ssh = ["db1", "db2"]\nspread = "pool"\n[hosts.db1]\ndirectory = "/srv"\nuse_devices = ["/dev/sdb"]\n',
        )
    )
    assert (spec.means, spec.ssh, spec.compares) == ("ssh", ("db1", "db2"), False)
    assert spec.of_host("db1").use_devices == ("/dev/sdb",)
    assert spec.of_host("db2").use_devices == ()


@pytest.mark.parametrize(
    ("text", "compares"),
    [
        ('ssh = ["a"]', True),
        ("local = 2", True),
        ('address = "tcp://s:8786"', False),
        ("slurm = {machines = 2}", False),
    ],
)
def test_hosts_that_are_named_are_compared_and_others_are_a_pool(tmp_path: Path, text: str, compares: bool) -> None:
    assert read(written(tmp_path, text)).compares is compares


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not say where its machines come from; write one of address, ssh, slurm, kubernetes, local"),
        ('local = 2\nssh = ["a"]', "names ssh and local; write one of"),
        ("local = 0", "local: found 0, must be at least 1"),
        ("locl = 2", 'key "locl" is not known (did you mean "local"?)'),
        ('ssh = ["a"]\n[hosts.a]\ndevices = ["/dev/sdb"]', 'key "hosts.a.devices" is not known'),
        ('ssh = ["a", "a"]', "ssh names a host twice"),
        ('ssh = ["a"]\n[hosts.b]\nhome = "/x"', 'hosts: host "b" is not known'),
        ('ssh = ["a"]\n[hosts.a]\nerase = ["/dev/sdb"]', "hosts.a: erase names /dev/sdb, which use_devices does not"),
        ('local = 2\nspread = "all"', 'spread: "all" is not known; allowed: compare, pool'),
        ("local = ", "not TOML"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BadInput) as refused:
        read(path)
    assert str(path) in refused.value.message
    assert words in refused.value.message


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read(tmp_path / "fleet.toml")
