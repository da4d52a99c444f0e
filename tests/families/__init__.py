"""The engine families that the contract suites run over. A new family joins with one module here, which names a FAMILY."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from families.base import Family

FAMILIES: dict[str, Family] = {
    found.family: found
    for found in (
        import_module(f"families.{module.name}").FAMILY
        for module in pkgutil.iter_modules(__path__)
        if module.name != "base"
    )
}
