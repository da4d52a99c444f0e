"""The experiment: the user's TOML file as typed models, with errors that name file, key and remedy."""

from acidtest.experiment.models import NOT_APPLICABLE, PARAMETERS_OF_ONE, Experiment, Level, PlaceSpec, WorkloadSpec
from acidtest.experiment.reader import parse, read

__all__ = ["NOT_APPLICABLE", "PARAMETERS_OF_ONE", "Experiment", "Level", "PlaceSpec", "WorkloadSpec", "parse", "read"]
