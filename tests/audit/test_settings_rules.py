"""Rules over what a kit's files and texts say of settings."""

from __future__ import annotations

from settings_kits import SPOKEN
from tables import over_kits

test_it_speaks_of_these_kits_and_not_of_those = over_kits(SPOKEN)
