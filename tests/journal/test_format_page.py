"""docs/FORMAT.md names every field of header, recording and result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from acidtest.journal import models, protocol

PAGE = (Path(__file__).parents[2] / "docs" / "FORMAT.md").read_text()
WORDS = set(re.findall(r"`([a-z_0-9]+)`", PAGE))


@pytest.mark.parametrize(
    "model",
    [
        models.Header, models.HostRecord, models.Explored, models.Forecast, models.RecoveryOutcome, models.FailingState, models.Recording, models.EngineFacts, models.Machine, models.PlaceFacts, models.SettingInForce,
        protocol.ObservedCalls, protocol.ObservedFile, protocol.CallCount, protocol.StorageCount, protocol.PerCommit,
        protocol.Spread, protocol.TypicalCommit, protocol.ObservedLine, models.Warning, models.Cut, models.Fate, models.Integrity, models.States, models.Memory, models.MemorySample, models.DatabaseSize, models.LoadSample, models.DatabaseStatistics, models.TableStatistics, models.IndexStatistics, models.Transactions, models.DeviceWork, models.EngineCounts, models.EngineCounter, models.EngineSamples, models.EngineFigure, protocol.Sample, models.Generator, models.ServerHost, models.HostSample, models.TracedStatements, models.TracedStatement, protocol.RunResult, protocol.Kind, protocol.Loaded, protocol.LoadSecond, protocol.Counts, protocol.ArrivalCounts, protocol.Second, protocol.Cpu,
        protocol.Histogram, protocol.Checked, protocol.Condition,
    ],
)  # fmt: skip
def test_every_field_is_named(model: type[BaseModel]) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()} - {"event"}
    assert fields <= WORDS, fields - WORDS
