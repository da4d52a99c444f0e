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
from acidtest.analysis.growth.held_out import Foretold, Score, foretell, held_out, looking_back
from acidtest.analysis.growth.recorded import LoadPoint, load_curve, recorded
from acidtest.analysis.growth.series import CACHE, MEMORY, Landmark, Recorded, RecordedSize, Series, SizePoint
from acidtest.analysis.growth.words import foretold_sentence, score_sentence, sentences

__all__ = [
    "CACHE",
    "MEMORY",
    "AtSize",
    "Estimate",
    "Foretold",
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
    "Score",
    "Series",
    "SizePoint",
    "Step",
    "analyse",
    "compare",
    "foretell",
    "foretold_sentence",
    "held_out",
    "load_curve",
    "looking_back",
    "pairs",
    "recorded",
    "score_sentence",
    "sentences",
    "size_text",
]
