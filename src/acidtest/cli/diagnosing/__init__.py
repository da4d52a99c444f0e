"""Makes a diagnosis: part after part, each by what the house has for it. Nothing of the user's is changed."""

from acidtest.cli.diagnosing.asked import Asked
from acidtest.cli.diagnosing.making import make

__all__ = ["Asked", "make"]
