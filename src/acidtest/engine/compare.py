"""Setting by setting: what was asked for against what every session answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from acidtest.families import FAMILIES
from acidtest.journal.models import Scalar, SettingInForce
from acidtest.journal.protocol import Settings


def spoken(value: Scalar) -> str:
    """A setting's value as an experiment asks for it, in the words in which an answer is compared with it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def promised(does: str, family: str, level: str, settings: Mapping[str, Scalar]) -> str:
    """What a level ``does`` under these settings, and what a crash or a power cut may then lose."""
    sentence = FAMILIES[family].risk(level, {name: spoken(value) for name, value in settings.items()}).sentence
    return f"{does}: {sentence}" if sentence else does


class Answers:
    """The rig's answers: the first of the job's own session, the others of terminals that answered otherwise."""

    def __init__(self, answers: Sequence[Settings]) -> None:
        self._sessions = [(a.terminal, {s.name: s.value for s in a.values}) for a in answers]

    def compare(
        self,
        name: str,
        asked: str | None,
        source: str,
        *,
        answer: str | None = None,
        translate: Callable[[str], str] = str,
    ) -> SettingInForce:
        """One setting. ``answer`` is the name that the engine's answer goes by, ``translate`` turns it into our words.

        A setting that was asked for agrees only if every session answers with it; one that was not asked for is
        recorded.
        """
        key = answer or name
        by_terminal = [(t, None if (v := values.get(key)) is None else translate(v)) for t, values in self._sessions]
        in_force = by_terminal[0][1] if by_terminal else None
        agrees = True
        if asked is not None:
            for terminal, value in by_terminal or [(None, None)]:
                if value != asked:
                    in_force = value if terminal is None else f"{value} on terminal {terminal}"
                    agrees = False
                    break
        return SettingInForce(name=name, asked=asked, in_force=in_force, agrees=agrees, source=source)


def in_force(settings: Sequence[SettingInForce], name: str) -> str:
    """What a setting is in force with, "" when that is not known."""
    return next((setting.in_force or "" for setting in settings if setting.name == name), "")


def number_in_force(settings: Sequence[SettingInForce], name: str) -> int | None:
    """A setting in force as a number, None when it is none."""
    value = in_force(settings, name)
    return int(value) if value.isdigit() else None
