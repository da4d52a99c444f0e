"""A fleet's file: where the machines come from, and what each of them may use."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from acidtest.errors import BadInput, Problems, not_among
from acidtest.experiment import complaint
from acidtest.keys import Model

MEANS = ("address", "ssh", "slurm", "kubernetes", "local")


class HostSpec(Model):
    """What acidtest may use on one host. Without a table for a host it uses no device there."""

    directory: str | None = None  # where databases and kept recordings lie; None: a directory of acidtest's own
    home: str | None = None  # ACIDTEST_HOME on that host
    python: str | None = None  # over ssh: the Python of the acidtest that is installed there
    listen: str | None = None  # over ssh: the host's own address at which its worker listens; None: as Dask finds it
    use_devices: tuple[str, ...] = ()  # may be formatted, written to and left empty
    erase: tuple[str, ...] = ()  # of these, those on which everything may be destroyed


class TlsFiles(Model):
    """Dask's own TLS: PEM files, at the same paths on every host and here."""

    ca: str
    cert: str
    key: str


class SshOptions(Model):
    """What asyncssh needs to connect, beside what the user's ~/.ssh/config says."""

    username: str | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    client_keys: tuple[str, ...] = ()  # files of private keys
    known_hosts: str | None = None  # a file; None: ~/.ssh/known_hosts


class SlurmSpec(Model):
    """Nodes that Slurm gives; each is a job of its own, by dask-jobqueue."""

    machines: int = Field(ge=1, le=10_000)
    queue: str | None = None
    account: str | None = None
    walltime: str = "08:00:00"
    memory: str = "1 GiB"  # that the job asks Slurm for
    cores: int = Field(default=1, ge=1, le=10_000)
    interface: str | None = None  # of the network that nodes and this machine share
    python: str | None = None
    directives: tuple[str, ...] = ("--exclusive",)  # further lines #SBATCH
    prologue: tuple[str, ...] = ()  # shell lines before the worker


class KubernetesSpec(Model):
    """Pods that dask-kubernetes' operator makes of an image that holds acidtest."""

    machines: int = Field(ge=1, le=10_000)
    image: str
    namespace: str = "default"


class FleetSpec(Model):
    """A fleet's file, with every default filled in. One of ``MEANS`` says where the machines come from."""

    address: str | None = None  # of a Dask scheduler that runs already: "tcp://scheduler:8786"
    workers: int = Field(default=1, ge=1, le=10_000)  # of such a scheduler, that are waited for
    ssh: tuple[str, ...] = ()  # names or addresses of hosts
    slurm: SlurmSpec | None = None
    kubernetes: KubernetesSpec | None = None
    local: int | None = Field(default=None, ge=1, le=64)  # workers on this machine, for trying
    spread: Literal["compare", "pool"] | None = None
    server: str | None = None  # the host that has the server of a load from several machines; it drives nothing itself
    listen: str | None = None  # the address of this machine at which hosts reach the scheduler that is started here
    patience_s: float = Field(default=300.0, ge=1, le=86_400)  # for a host that is gone to come back
    tls: TlsFiles | None = None
    ssh_options: SshOptions = SshOptions()
    hosts: dict[str, HostSpec] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_one_kind(self) -> FleetSpec:
        given = [name for name in MEANS if getattr(self, name)]
        if len(given) != 1:
            found = f"names {' and '.join(given)}" if given else "does not say where its machines come from"
            raise ValueError(f"{found}; write one of {', '.join(MEANS)}")
        if self.address is None and "workers" in self.model_fields_set:
            raise ValueError("workers is of address: leave it out")
        if len(set(self.ssh)) < len(self.ssh):
            raise ValueError("ssh names a host twice")
        if self.server is not None and self.ssh and self.server not in self.ssh:
            raise ValueError(f"server: {self.server} is none of the hosts of ssh")
        for name, host in self.hosts.items():
            if stray := [one for one in host.erase if one not in host.use_devices]:
                raise ValueError(f"hosts.{name}: erase names {stray[0]}, which use_devices does not")
        return self

    @property
    def means(self) -> str:
        """Which of ``MEANS`` it has."""
        return next(name for name in MEANS if getattr(self, name))

    @property
    def compares(self) -> bool:
        """Whether each combination runs on each host; otherwise its repetitions are spread over alike ones."""
        if self.spread is None:
            return self.means in ("ssh", "local")
        return self.spread == "compare"

    def of_host(self, name: str) -> HostSpec:
        return self.hosts.get(name, HostSpec())


def read(path: Path) -> FleetSpec:
    """Read the file ``path``. Raises BadInput with everything that is wrong with it."""
    try:
        written = tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise BadInput(
            f"{path}: no such file", "give the path of a fleet's file; acidtest help docs/FLEET.md has examples"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}", "give the path of a fleet's file") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not TOML: {error}", "correct that line") from None
    try:
        spec = FleetSpec.model_validate(_tuples(written))
    except ValidationError as error:
        problems = Problems()
        for one in error.errors():
            key = ".".join(map(str, one["loc"]))
            if one["type"] == "extra_forbidden":
                table = _model(one["loc"][:-1])
                problems.add(BadInput(f"{path}: {not_among('key', key, table)}"))
            elif one["type"] == "value_error" and not key:
                problems.add(BadInput(f"{path}: {one['ctx']['error']}"))
            else:
                problems.add(BadInput(f"{path}: {complaint(one, key)}"))
        raise problems.together() from None
    if spec.ssh and (strangers := spec.hosts.keys() - set(spec.ssh)):
        raise BadInput(f"{path}: {not_among('hosts: host', min(strangers), spec.ssh)}")
    return spec


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _model(at: tuple[int | str, ...]) -> list[str]:
    """The keys that the table at this path may have."""
    model = TABLES.get(str(at[0]), FleetSpec) if at else FleetSpec
    return list(model.model_fields)


TABLES: Mapping[str, type[Model]] = {
    "slurm": SlurmSpec, "kubernetes": KubernetesSpec, "tls": TlsFiles, "ssh_options": SshOptions, "hosts": HostSpec,
}  # fmt: skip
ALL_KEYS = frozenset(FleetSpec.model_fields).union(*(model.model_fields for model in TABLES.values()))
