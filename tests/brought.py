"""The engines that tests and shipped experiments run. ``python tests/brought.py`` installs those that are missing."""

from __future__ import annotations

import subprocess
from pathlib import Path

from acidtest.engine import catalogue
from support import ACIDTEST, FAMILIES

EXPERIMENTS = Path(__file__).parents[1] / "experiments"


def install(**more: object) -> None:
    """Raises subprocess.CalledProcessError where one cannot be brought."""
    experiments = "".join(file.read_text() for file in EXPERIMENTS.glob("*.toml"))
    shipped = [engine for engine in catalogue.all_engines() if f'"{engine}"' in experiments]
    engines = dict.fromkeys([*(engine for family in FAMILIES.values() for engine in family.private), *shipped])
    subprocess.run([ACIDTEST, "engines", "install", *engines], check=True, timeout=800, **more)  # type: ignore[call-overload]


if __name__ == "__main__":
    install()
