"""The experiment: the user's TOML file as typed models, with errors that name file, key and remedy."""

from acidtest.experiment.models import (
    PARAMETERS_OF_ONE,
    Experiment,
    Level,
    PlaceSpec,
    Scalar,
    WorkloadSpec,
    place_keys_without_meaning,
)
from acidtest.experiment.reader import parse, read

__all__ = [
    "PARAMETERS_OF_ONE",
    "Experiment",
    "Level",
    "PlaceSpec",
    "Scalar",
    "WorkloadSpec",
    "parse",
    "place_keys_without_meaning",
    "read",
]
