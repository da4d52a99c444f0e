"""Cuts the power of a real machine: one machine is cut, the other one is the witness and keeps what was acknowledged.

``server.py`` is the side of the machine that is cut, ``witness.py`` the other; ``messages.py`` is all that they
exchange.
"""

from acidtest.powercut.plug.machine import Switch
from acidtest.powercut.plug.server import serve
from acidtest.powercut.plug.wire import Address
from acidtest.powercut.plug.witness import Patience, watch

__all__ = ["Address", "Patience", "Switch", "serve", "watch"]
