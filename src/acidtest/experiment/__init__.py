"""The experiment: the user's TOML file as typed models, with errors that name file, key and remedy."""

from acidtest.experiment.models import (
    Experiment,
    GrowthSpec,
    Level,
    LoadSpec,
    SearchSpec,
)
from acidtest.experiment.places import PlaceSpec
from acidtest.experiment.program import ProgramLevel, ProgramSpec
from acidtest.experiment.reader import complaint, parse, read
from acidtest.experiment.servers import server_of
from acidtest.experiment.sizes import Size, size_of

__all__ = [
    "Experiment",
    "GrowthSpec",
    "Level",
    "LoadSpec",
    "PlaceSpec",
    "ProgramLevel",
    "ProgramSpec",
    "SearchSpec",
    "Size",
    "complaint",
    "parse",
    "read",
    "server_of",
    "size_of",
]
