"""What the models of an experiment have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Scalar = str | int | float | bool


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)
