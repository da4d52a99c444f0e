"""Engines: install, create, adopt a loaded template, read back the settings in force.

``base.py`` is the contract; ``catalogue.py`` names every engine; one module an engine beside them.
"""

from acidtest.engine.base import DURABILITY_LEVELS, Durability, Engine, Instance, Launcher, SettingSpec

__all__ = ["DURABILITY_LEVELS", "Durability", "Engine", "Instance", "Launcher", "SettingSpec"]
