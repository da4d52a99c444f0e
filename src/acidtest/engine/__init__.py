"""Engines: install, create, adopt a loaded template, read back the settings in force.

``base.py`` is the contract; a package for each family keeps it, and says where its engines come from; ``catalogue.py``
gathers them. For engines that are brought: ``install.py``, ``archives.py`` (Maven), ``libraries.py``.
"""

from acidtest.engine.base import DURABILITY_LEVELS, Durability, Engine, Instance, Launcher, Offer, SettingSpec
from acidtest.engine.server import Ended

__all__ = ["DURABILITY_LEVELS", "Durability", "Ended", "Engine", "Instance", "Launcher", "Offer", "SettingSpec"]
