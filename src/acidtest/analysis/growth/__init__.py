"""How a rate changes as the database grows: the curve, the loss per doubling, a knee, and what is to be expected.

A ``Series`` is made of recordings or of what somebody has published; everything else is concluded from it.
"""

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
from acidtest.analysis.growth.compared import Pair, RatioAt, compare, pairs
from acidtest.analysis.growth.forecast import Model
from acidtest.analysis.growth.loads import LoadPoint, load_curve
from acidtest.analysis.growth.recorded import recorded
from acidtest.analysis.growth.series import CACHE, MEMORY, Landmark, Recorded, RecordedSize, Series, SizePoint
from acidtest.analysis.growth.words import sentences

__all__ = [
    "CACHE",
    "MEMORY",
    "AtSize",
    "Estimate",
    "GrowthAnswer",
    "Knee",
    "Landmark",
    "LoadPoint",
    "Model",
    "Pair",
    "Prediction",
    "RatioAt",
    "Recorded",
    "RecordedSize",
    "Series",
    "SizePoint",
    "Step",
    "analyse",
    "compare",
    "load_curve",
    "pairs",
    "recorded",
    "sentences",
    "size_text",
]
