"""The experiment: the user's TOML file as typed models, with errors that name file, key and remedy."""

from acidtest.experiment.models import (
    PARAMETERS_OF_ONE,
    PLACE_KEYS_WITHOUT_MEANING,
    Experiment,
    Level,
    PlaceSpec,
    Scalar,
    WorkloadSpec,
)
from acidtest.experiment.reader import parse, read

__all__ = [
    "PARAMETERS_OF_ONE",
    "PLACE_KEYS_WITHOUT_MEANING",
    "Experiment",
    "Level",
    "PlaceSpec",
    "Scalar",
    "WorkloadSpec",
    "parse",
    "read",
]
