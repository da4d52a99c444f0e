"""What several suites share: the path to ``factory`` and ``support``, and the engines, installed as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support import ACIDTEST, FIREBIRDS


@pytest.fixture(scope="session")
def engines_installed() -> None:
    """The engines that tests run, where they are missing; one that cannot be brought fails the tests."""
    subprocess.run(
        [ACIDTEST, "engines", "install", *FIREBIRDS], check=True, capture_output=True, text=True, timeout=300
    )
