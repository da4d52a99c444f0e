"""Where an engine stands while load is measured: a table of figures, and the questions that ask for them once a second.

An engine whose instances bring it has its figures in every recording (``Instance.figures``), unless the workload's
``sample_engine`` is off. The rig asks on a session of its own beside the terminals'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acidtest.journal.models import EngineFigure, EngineSamples
from acidtest.journal.protocol import Sample, Sampled, Sampling


@dataclass(frozen=True)
class Figure:
    """One figure by the engine's name for it. ``says`` goes before a number: "buffers written by checkpoints"."""

    name: str
    says: str
    rises: bool = True  # counts since some moment, so that two samples make a rate; otherwise it stands at a value
    unit: str = ""  # after the number: "bytes"

    def recorded(self) -> EngineFigure:
        return EngineFigure(name=self.name, says=self.says, rises=self.rises, unit=self.unit)


@dataclass(frozen=True)
class Figures:
    """All that an engine is asked for.

    Each of ``questions`` answers rows of a figure's name and the figure. Without any the rig's session tells them.
    """

    source: str  # "pg_stat_bgwriter, pg_stat_activity"
    questions: Sequence[str]
    table: Sequence[Figure]

    def asked(self) -> Sampling:
        """As the rig is asked for them."""
        return Sampling(questions=list(self.questions), names=[figure.name for figure in self.table])

    def recorded(self, event: Sampled) -> EngineSamples:
        """What the rig answered, as a recording keeps it. Figures that the engine never told are left out."""
        told = [any(sample.values[at] is not None for sample in event.samples) for at in range(len(self.table))]
        return EngineSamples(
            source=self.source,
            not_sampled=event.not_sampled,
            figures=[figure.recorded() for figure, is_told in zip(self.table, told, strict=True) if is_told],
            samples=[
                Sample(
                    at_s=round(sample.at_s, 4),
                    took_s=round(sample.took_s, 6),
                    values=[value for value, is_told in zip(sample.values, told, strict=True) if is_told],
                )
                for sample in event.samples
            ],
        )
