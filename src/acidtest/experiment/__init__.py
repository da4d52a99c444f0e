"""The experiment: the user's TOML file as typed models, with errors that name file, key and remedy."""

from acidtest.experiment.models import (
    Experiment,
    GrowthSpec,
    Level,
    PlaceSpec,
    Scalar,
    place_keys_without_meaning,
)
from acidtest.experiment.reader import parse, read
from acidtest.experiment.sizes import Size, size_of

__all__ = [
    "Experiment",
    "GrowthSpec",
    "Level",
    "PlaceSpec",
    "Scalar",
    "Size",
    "parse",
    "place_keys_without_meaning",
    "read",
    "size_of",
]
