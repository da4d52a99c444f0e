"""How a rate changes as the database grows: the curve, the loss per doubling, a knee, and what is to be expected."""

from acidtest.analysis.growth.answer import (
    AtSize,
    Estimate,
    GrowthAnswer,
    Knee,
    Prediction,
    Step,
    analyse,
    size_text,
)
from acidtest.analysis.growth.compared import RatioAt, compare
from acidtest.analysis.growth.forecast import Model
from acidtest.analysis.growth.recorded import Recorded, recorded
from acidtest.analysis.growth.series import CACHE, MEMORY, Landmark, Series, SizePoint
from acidtest.analysis.growth.words import said

__all__ = [
    "CACHE",
    "MEMORY",
    "AtSize",
    "Estimate",
    "GrowthAnswer",
    "Knee",
    "Landmark",
    "Model",
    "Prediction",
    "RatioAt",
    "Recorded",
    "Series",
    "SizePoint",
    "Step",
    "analyse",
    "compare",
    "recorded",
    "said",
    "size_text",
]
