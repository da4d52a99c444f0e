"""Which files are texts that people read, and which of their sentences compare."""

from __future__ import annotations

from acidtest.formats import linear

PROSE = linear.Pattern(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc)")
WRITTEN = linear.Pattern(r"readme(?:\.\w+)?|.*\.(?:md|markdown|rst|adoc|txt)")  # with notes, that may be outputs too
COMPARES = linear.Pattern(
    r"\b(?:dominates?|faster|slower|quicker|fastest|slowest|quickest|outperform(?:s|ed|ing)?|beats?|"
    r"(?:higher|lower|more|less|better|worse|best|worst|double|twice the|half the) "
    r"(?:throughput|latenc(?:y|ies)|performance|tps|qps|iops|rate|response times?)|"
    r"(?:throughput|latency|performance|tps|qps|iops) (?:gains?|improvements?|improves?|improved|increases?|increased|"
    r"drops?|dropped|doubles?|doubled|degrades?|degraded)|"
    r"(?:twice|half|(?:two|three|four|five|ten) times) as (?:fast|slow|quick|high|low|many|much)|"
    r"\d[\d.,]{0,9} ?(?:%|x|×|times|percent) (?:\w+ )?(?:faster|slower|better|worse|more|less|higher|lower|improvement|"
    r"speed-?up|gain|as|overhead)|speed-?up of|(?:similar|comparable|identical|(?:about |roughly )?the same) "
    r"(?:results?|throughput|latenc(?:y|ies)|performance|rates?|figures?|numbers?|tps|qps))\b",
    linear.IGNORECASE,
)  # fmt: skip
