"""acidtest: how fast a transactional database really is on the storage beneath it, and why."""

__version__ = "0.1.0"
