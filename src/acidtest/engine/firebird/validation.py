"""Validates a database through the services of an embedded Firebird, in a process that imports almost nothing.

``python -I -S validation.py LIBRARY DATABASE USER``, with the instance's environment, validates once for each line of
standard input and answers with a line: empty, or the engine's words, also when it ended and found something. As ``gfix
-validate -full -no_update``: what it finds goes into firebird.log. firebird-driver would take longer to load than a
small database takes to validate.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time

STATUS = ctypes.c_ssize_t * 20  # ISC_STATUS_ARRAY
# Of firebird/impl/consts_pub.h and inf_pub.h.
SPB_VERSION, SPB_CURRENT_VERSION, SPB_USER_NAME, SPB_DBNAME, SPB_OPTIONS = 2, 2, 28, 106, 108
ACTION_REPAIR, INFO_RUNNING = 3, 67
PR_SET_PDEATHSIG, SIGKILL = 1, 9  # see prctl(2)
VALIDATE, CHECK, FULL = 0x01, 0x10, 0x80
PAUSE_S = 0.002


class Refused(Exception):
    """The engine's words."""


def main() -> int:
    process = ctypes.CDLL(None)
    process.prctl(PR_SET_PDEATHSIG, SIGKILL)
    # For each file that it shares the engine asks who "firebird" is: where no file tells, that goes to other services.
    if configure := getattr(process, "__nss_configure_lookup", None):  # of the GNU C library, see nss.h
        for names in (b"passwd", b"group"):
            configure(names, b"files")
    path, database, user = sys.argv[1:]
    library = ctypes.CDLL(path)
    for _ in sys.stdin:
        try:
            validate(library, os.fsencode(database), user.encode())
            print(flush=True)
        except Refused as error:
            print(error, flush=True)
    return 0


def validate(library: ctypes.CDLL, database: bytes, user: bytes) -> None:
    """Run the service to its end. Raises Refused."""
    status, service = STATUS(), ctypes.c_uint(0)
    attach = bytes([SPB_VERSION, SPB_CURRENT_VERSION, SPB_USER_NAME, len(user)]) + user
    name = b"service_mgr"
    _check(
        library, status, library.isc_service_attach(status, len(name), name, ctypes.byref(service), len(attach), attach)
    )
    action = bytes([ACTION_REPAIR, SPB_DBNAME]) + struct.pack("<H", len(database)) + database
    action += bytes([SPB_OPTIONS]) + struct.pack("<I", VALIDATE | CHECK | FULL)
    try:
        _check(library, status, library.isc_service_start(status, ctypes.byref(service), None, len(action), action))
        answer, request = ctypes.create_string_buffer(64), bytes([INFO_RUNNING])
        while True:
            query = library.isc_service_query(
                status, ctypes.byref(service), None, 0, None, len(request), request, len(answer), answer
            )
            _check(library, status, query)
            if answer.raw[0] != INFO_RUNNING or struct.unpack("<I", answer.raw[1:5])[0] == 0:
                return
            time.sleep(PAUSE_S)
    finally:
        library.isc_service_detach(STATUS(), ctypes.byref(service))


def _check(library: ctypes.CDLL, status: ctypes.Array[ctypes.c_ssize_t], result: int) -> None:
    if result == 0:
        return
    words, text = [], ctypes.create_string_buffer(1024)
    place = ctypes.cast(status, ctypes.POINTER(ctypes.c_ssize_t))
    while library.fb_interpret(text, ctypes.c_uint(len(text)), ctypes.byref(place)):
        words.append(" ".join(text.value.decode(errors="replace").split()))
    raise Refused(" - ".join(words) or "no words")


if __name__ == "__main__":
    os._exit(main())  # a library of 3.0 may crash while it is unloaded, when all is done
