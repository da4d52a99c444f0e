"""The protocol has two texts, one a language. The rig's samples must pass the lab's models field by field."""

from __future__ import annotations

import json
import subprocess
import typing
from typing import Annotated, Any, Union

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from acidtest.engine import catalogue
from acidtest.files import find_rig
from acidtest.journal import protocol
from acidtest.journal.protocol import WorkloadMessage
from acidtest.workload import WORKLOADS, WorkloadSpec
from workloads import workload


def rig(*arguments: str, given: str = "") -> str:
    return subprocess.run(
        [find_rig(), *arguments], input=given, capture_output=True, text=True, check=True, timeout=120
    ).stdout


SAMPLES: dict[str, list[Any]] = json.loads(rig("protocol"))


MESSAGES: dict[str, type[WorkloadMessage]] = {
    message.model_fields["name"].default: message
    for message in (getattr(spec, "MESSAGE", typing.get_type_hints(spec.message)["return"]) for spec in WORKLOADS)
}


def models(annotation: Any) -> list[type[BaseModel]]:
    """Every model that an annotation of ours can hold."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in typing.get_args(annotation) for m in models(part)]


def targets() -> tuple[type[protocol.Target], ...]:
    """Of every engine's package."""
    assert catalogue.known()
    return tuple(protocol.Target.__subclasses__())


AnyTarget = Annotated[Union[targets()], Field(discriminator="engine")]  # type: ignore[valid-type]  # noqa: UP007
AnyWorkload = Annotated[Union[tuple(MESSAGES.values())], Field(discriminator="name")]  # noqa: UP007 - of a tuple


class AnyJob(protocol.Job):
    """A job can be written with any engine's target and any workload's message; to be read back, these must be known."""

    target: AnyTarget  # type: ignore[valid-type]
    workload: AnyWorkload  # type: ignore[valid-type]


def twin(name: str) -> Any:
    """The Python type of a Rust type's name."""
    of_members = {"Job": AnyJob, "Target": AnyTarget, "Workload": AnyWorkload}
    renamed = {"RunPlan": "RunPhase"}
    return of_members.get(name) or getattr(protocol, renamed.get(name, name), None)


def reached(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    if model not in seen:
        seen.add(model)
        for field in model.model_fields.values():
            for inner in models(field.annotation):
                reached(inner, seen)
    return seen


def keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_what_the_rig_writes_the_lab_reads_and_writes_back(name: str) -> None:
    kind = twin(name)
    if kind is None:
        assert all(isinstance(sample, str) for sample in SAMPLES[name]), f"{name} has no twin"
        return
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    for sample in SAMPLES[name]:
        whole = {"phase": "run", **sample} if name == "RunPlan" else sample
        read = adapter.validate_python(whole)
        assert adapter.dump_python(read, mode="json", by_alias=True) == whole


ROOTS = ("Job", "ProbeJob", "PagesJob", "Event", "DiskSpec", "DiskCommand", "DiskAnswer")


@pytest.mark.parametrize("name", ROOTS)
def test_what_the_lab_writes_the_rig_reads_and_writes_back(name: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(twin(name))
    for sample in SAMPLES[name]:
        ours = adapter.dump_json(adapter.validate_python(sample), by_alias=True).decode()
        assert json.loads(rig("protocol", "--read", name, given=ours)) == sample


@pytest.mark.parametrize("spec", WORKLOADS, ids=lambda spec: spec.model_fields["kind"].default)
def test_every_workload_of_the_registry_is_one_of_the_rig(spec: type[WorkloadSpec]) -> None:
    message = workload(spec, count=7).message()
    job = AnyJob.model_validate({**SAMPLES["Job"][0], "workload": message.model_dump(by_alias=True)})
    written = json.loads(rig("protocol", "--read", "Job", given=job.model_dump_json(by_alias=True)))
    assert written["workload"] == message.model_dump(mode="json", by_alias=True)
    assert message.name in {sample["workload"]["name"] for sample in SAMPLES["Job"]}


def test_the_rig_reads_a_job_with_the_target_of_each_engine() -> None:
    for sample in SAMPLES["Job"]:
        job = AnyJob.model_validate(sample)
        plain = protocol.Job.model_construct(**{name: getattr(job, name) for name in protocol.Job.model_fields})
        assert json.loads(rig("protocol", "--read", "Job", given=plain.model_dump_json(by_alias=True))) == sample
    told = {sample["target"]["engine"] for sample in SAMPLES["Job"]}
    assert told == {target.model_fields["engine"].default for target in targets()}


def test_the_samples_show_every_model_and_every_field_of_ours() -> None:
    ours: set[type[BaseModel]] = set()
    for name in ROOTS:
        for model in models(twin(name)):
            reached(model, ours)
    shown = [sample for samples in SAMPLES.values() for sample in samples]
    objects: list[dict[str, Any]] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            objects.append(value)
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                collect(one)

    collect(shown)
    seen = {frozenset(one) for one in objects}
    missing = [m.__name__ for m in ours if frozenset(keys(m)) not in seen]
    assert not missing, f"no sample of the rig has exactly the fields of {missing}"


@pytest.mark.parametrize(("name", "command"), [("Job", "job"), ("ProbeJob", "probe")])
def test_both_sides_name_the_same_protocol_number(name: str, command: str) -> None:
    job = next(iter(SAMPLES[name]))
    assert job["protocol"] == protocol.PROTOCOL
    wrong = json.dumps({**job, "protocol": protocol.PROTOCOL + 1})
    refused = subprocess.run(
        [find_rig(), command], input=wrong, capture_output=True, text=True, timeout=120, check=False
    )
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1
