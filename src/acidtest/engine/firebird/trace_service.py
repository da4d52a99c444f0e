"""Reads a trace session of a Firebird through its services, in a process that imports almost nothing.

``python -I -S trace_service.py LIBRARY SERVICE USER``, with the instance's environment, reads a line with the password
("" of an embedded engine) and one with the session's configuration, its lines joined by ``\\x1f``, from standard input.
It answers on standard error with a line, ``started`` or why not, and writes what the engine traces to standard output,
as it comes, until another line arrives: then it goes on until the engine has been silent for a whole second, stops the
session and answers ``stopped``. The trace is of other processes' work: the session lies in the engine's lock directory,
or in the server. See doc/README.trace_services of Firebird's source.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys

STATUS = ctypes.c_ssize_t * 20  # ISC_STATUS_ARRAY
# Of firebird/impl/consts_pub.h and inf_pub.h.
SPB_VERSION, SPB_CURRENT_VERSION, SPB_USER_NAME, SPB_PASSWORD = 2, 2, 28, 29
TRACE_START, TRACE_STOP, TRACE_ID, TRACE_NAME, TRACE_CONFIGURATION = 22, 23, 1, 2, 3
INFO_END, INFO_TRUNCATED, INFO_NOT_READY, INFO_TO_EOF, INFO_LINE, INFO_TIMEOUT = 1, 2, 4, 63, 62, 64
PR_SET_PDEATHSIG, SIGKILL = 1, 9  # see prctl(2)
WAIT_S = 1  # the services count whole seconds
BUFFER_BYTES = 32_000  # its length has to fit into 16 bits, with a sign in some versions
NAME = b"acidtest"


class Refused(Exception):
    """The engine's words."""


class Service:
    """A connection to the services. Raises Refused."""

    def __init__(self, library: ctypes.CDLL, name: bytes, user: bytes, password: bytes) -> None:
        self._library = library
        self._handle = ctypes.c_uint(0)
        login = bytes([SPB_VERSION, SPB_CURRENT_VERSION, SPB_USER_NAME, len(user)]) + user
        login += bytes([SPB_PASSWORD, len(password)]) + password if password else b""
        handle = ctypes.byref(self._handle)
        self._do(library.isc_service_attach, len(name), name, handle, len(login), login)

    def start(self, action: bytes) -> None:
        self._do(self._library.isc_service_start, ctypes.byref(self._handle), None, len(action), action)

    def query(self, item: int) -> tuple[bytes, int]:
        """What the service printed, and the item after it: INFO_END when there will be no more."""
        answer = ctypes.create_string_buffer(BUFFER_BYTES)
        wait, request = struct.pack("<BHI", INFO_TIMEOUT, 4, WAIT_S), bytes([item])
        self._do(
            self._library.isc_service_query, ctypes.byref(self._handle), None, len(wait), wait, len(request), request,
            len(answer), answer,
        )  # fmt: skip
        kind, length = struct.unpack_from("<BH", answer)
        if kind != item:
            return b"", kind
        return answer.raw[3 : 3 + length], answer.raw[3 + length]

    def end(self) -> None:
        self._library.isc_service_detach(STATUS(), ctypes.byref(self._handle))

    def _do(self, call: ctypes._NamedFuncPointer, *arguments: object) -> None:
        status = STATUS()
        if call(status, *arguments) == 0:
            return
        words, text = [], ctypes.create_string_buffer(1024)
        place = ctypes.cast(status, ctypes.POINTER(ctypes.c_ssize_t))
        while self._library.fb_interpret(text, ctypes.c_uint(len(text)), ctypes.byref(place)):
            words.append(" ".join(text.value.decode(errors="replace").split()))
        raise Refused(" - ".join(words) or "no words")


def main() -> int:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    path, service_name, user = sys.argv[1:]
    lines = sys.stdin.buffer
    password = lines.readline().rstrip(b"\n")
    configuration = lines.readline().rstrip(b"\n").replace(b"\x1f", b"\n")
    try:
        login = ctypes.CDLL(path), service_name.encode(), user.encode(), password
        service = Service(*login)
        id_ = start(service, configuration)
        say("started")
        follow(service)
        stop(Service(*login), id_)
    except (Refused, OSError) as error:
        say(f"{error}")
        return 1
    say("stopped")
    return 0


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def start(service: Service, configuration: bytes) -> bytes:
    """Start a session and answer its number."""
    action = bytes([TRACE_START]) + _string(TRACE_NAME, NAME) + _string(TRACE_CONFIGURATION, configuration)
    service.start(action)
    said, following = b"", INFO_TIMEOUT
    while not said and following != INFO_END:
        said, following = service.query(INFO_LINE)
    words = said.split()
    if words[:3] != [b"Trace", b"session", b"ID"] or len(words) < 5 or not words[3].isdigit():
        raise Refused(said.decode(errors="replace").strip() or "the engine started no trace session and said nothing")
    return words[3]


def follow(service: Service) -> None:
    """Hand on what is traced until there is a line on standard input and a second without news."""
    asked = False
    while True:
        said, following = service.query(INFO_TO_EOF)
        view = memoryview(said)
        while view:
            view = view[os.write(1, view) :]
        if following == INFO_END:
            raise Refused("the engine ended the trace session by itself")
        if asked and not said:
            return
        # Looked at after the query: what was traced before the line is read by the next ones.
        asked = asked or bool(select.select([0], [], [], 0)[0])


def stop(service: Service, id_: bytes) -> None:
    """End the session with this number, as its owner."""
    service.start(bytes([TRACE_STOP, TRACE_ID]) + struct.pack("<I", int(id_)))
    while service.query(INFO_LINE)[1] == INFO_TIMEOUT:
        pass
    service.end()


def _string(tag: int, text: bytes) -> bytes:
    return bytes([tag]) + struct.pack("<H", len(text)) + text


if __name__ == "__main__":
    os._exit(main())  # a library of 3.0 may crash while it is unloaded, when all is done
