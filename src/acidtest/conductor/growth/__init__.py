"""The conductor of databases that grow: each series has one, which is loaded to a size, measured there, loaded on.

A database is measured where it was loaded. Loads have the cell's own settings and limits, at the engine's weakest
durability level: what a load commits is not waited for, and the time that it takes to get all of it onto the drive in
the end is the load's.
"""

from acidtest.conductor.growth.conductor import Growth

__all__ = ["Growth"]
