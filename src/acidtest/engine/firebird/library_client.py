"""Does one thing through Firebird's client library, in a process that imports almost nothing.

A process can load one Firebird version, and firebird-driver would take longer to load than most of these take. All of
them are run with ``python -I -S`` and, where the database is asked for, with the instance's environment:

``version LIBRARY`` prints what ``isc_get_client_version`` answers: "LI-V6.3.4.1812 Firebird 5.0" of 5.0.4. Where the
library cannot be loaded the loader's words go to standard error.

``validate LIBRARY DATABASE USER`` validates once for each line of standard input, through the services of the embedded
engine, and answers with a line: empty, or the engine's words, also when it ended and found something. As ``gfix
-validate -full -no_update``: what it finds goes into firebird.log.

``trace LIBRARY SERVICE USER`` reads a line with the password ("" of an embedded engine) and one with the configuration
of a trace session, its lines joined by ``\\x1f``, from standard input. It answers on standard error with a line,
``started`` or why not, and writes what the engine traces to standard output, as it comes, until another line arrives:
then it goes on until the engine has been silent for a whole second, stops the session and answers ``stopped``. The
trace is of other processes' work: the session lies in the engine's lock directory, or in the server. See
doc/README.trace_services of Firebird's source.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import time
from collections.abc import Callable

ANSWER_BYTES = 256  # of the version: it answers at most that many
STATUS = ctypes.c_ssize_t * 20  # ISC_STATUS_ARRAY
# Of firebird/impl/consts_pub.h and inf_pub.h.
SPB_VERSION, SPB_CURRENT_VERSION, SPB_USER_NAME, SPB_PASSWORD = 2, 2, 28, 29
SPB_DBNAME, SPB_OPTIONS, ACTION_REPAIR = 106, 108, 3
VALIDATE, CHECK, FULL = 0x01, 0x10, 0x80
TRACE_START, TRACE_STOP, TRACE_ID, TRACE_NAME, TRACE_CONFIGURATION = 22, 23, 1, 2, 3
INFO_END, INFO_TIMEOUT, INFO_LINE, INFO_TO_EOF, INFO_RUNNING = 1, 64, 62, 63, 67
PR_SET_PDEATHSIG, SIGKILL = 1, 9  # see prctl(2)
PAUSE_S = 0.002  # between two looks at whether a validation has ended
WAIT_S = 1  # for news of a trace: the services count whole seconds
BUFFER_BYTES = 32_000  # its length has to fit into 16 bits, with a sign in some versions
NAME = b"acidtest"


class Refused(Exception):
    """The engine's words."""


class Service:
    """A connection to the services. Raises Refused."""

    def __init__(self, library: ctypes.CDLL, name: bytes, user: bytes, password: bytes = b"") -> None:
        self._library = library
        self._handle = ctypes.c_uint(0)
        login = bytes([SPB_VERSION, SPB_CURRENT_VERSION, SPB_USER_NAME, len(user)]) + user
        login += bytes([SPB_PASSWORD, len(password)]) + password if password else b""
        handle = ctypes.byref(self._handle)
        self._do(library.isc_service_attach, len(name), name, handle, len(login), login)

    def start(self, action: bytes) -> None:
        self._do(self._library.isc_service_start, ctypes.byref(self._handle), None, len(action), action)

    def ask(self, item: int, wait: bytes = b"") -> bytes:
        """The answer to ``item`` as it comes."""
        answer, request = ctypes.create_string_buffer(BUFFER_BYTES), bytes([item])
        self._do(
            self._library.isc_service_query, ctypes.byref(self._handle), None, len(wait), wait, len(request), request,
            len(answer), answer,
        )  # fmt: skip
        return answer.raw

    def printed(self, item: int) -> tuple[bytes, int]:
        """What the service printed, and the item after it: INFO_END when there will be no more."""
        answer = self.ask(item, struct.pack("<BHI", INFO_TIMEOUT, 4, WAIT_S))
        kind, length = struct.unpack_from("<BH", answer)
        return (answer[3 : 3 + length], answer[3 + length]) if kind == item else (b"", kind)

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


def version(path: str) -> int:
    try:
        library = ctypes.CDLL(path)
        answer = ctypes.create_string_buffer(ANSWER_BYTES)
        library.isc_get_client_version(answer)
    except (OSError, AttributeError) as error:
        say(str(error))
        return 1
    print(answer.value.decode(errors="replace"), flush=True)
    return 0


def validate(path: str, database: str, user: str) -> int:
    process = end_with_the_caller()
    # For each file that it shares the engine asks who "firebird" is: where no file tells, that goes to other services.
    if configure := getattr(process, "__nss_configure_lookup", None):  # of the GNU C library, see nss.h
        for names in (b"passwd", b"group"):
            configure(names, b"files")
    library = ctypes.CDLL(path)
    for _ in sys.stdin:
        try:
            validate_once(library, os.fsencode(database), user.encode())
            print(flush=True)
        except Refused as error:
            print(error, flush=True)
    return 0


def validate_once(library: ctypes.CDLL, database: bytes, user: bytes) -> None:
    """Run the service to its end. Raises Refused."""
    service = Service(library, b"service_mgr", user)
    action = bytes([ACTION_REPAIR]) + _string(SPB_DBNAME, database)
    try:
        service.start(action + bytes([SPB_OPTIONS]) + struct.pack("<I", VALIDATE | CHECK | FULL))
        while True:
            kind, is_running = struct.unpack_from("<BI", service.ask(INFO_RUNNING))
            if kind != INFO_RUNNING or not is_running:
                return
            time.sleep(PAUSE_S)
    finally:
        service.end()


def trace(path: str, service_name: str, user: str) -> int:
    end_with_the_caller()
    lines = sys.stdin.buffer
    password = lines.readline().rstrip(b"\n")
    configuration = lines.readline().rstrip(b"\n").replace(b"\x1f", b"\n")
    try:
        login = ctypes.CDLL(path), service_name.encode(), user.encode(), password
        service = Service(*login)
        id_ = start_trace(service, configuration)
        say("started")
        follow_trace(service)
        stop_trace(Service(*login), id_)
    except (Refused, OSError) as error:
        say(str(error))
        return 1
    say("stopped")
    return 0


def start_trace(service: Service, configuration: bytes) -> bytes:
    """Start a session and answer its number."""
    action = bytes([TRACE_START]) + _string(TRACE_NAME, NAME) + _string(TRACE_CONFIGURATION, configuration)
    service.start(action)
    line, following = b"", INFO_TIMEOUT
    while not line and following != INFO_END:
        line, following = service.printed(INFO_LINE)
    words = line.split()
    if words[:3] != [b"Trace", b"session", b"ID"] or len(words) < 5 or not words[3].isdigit():
        raise Refused(line.decode(errors="replace").strip() or "the engine started no trace session and said nothing")
    return words[3]


def follow_trace(service: Service) -> None:
    """Hand on what is traced until there is a line on standard input and a second without news."""
    asked = False
    while True:
        news, following = service.printed(INFO_TO_EOF)
        view = memoryview(news)
        while view:
            view = view[os.write(1, view) :]
        if following == INFO_END:
            raise Refused("the engine ended the trace session by itself")
        if asked and not news:
            return
        # Looked at after the query: what was traced before the line is read by the next ones.
        asked = asked or bool(select.select([0], [], [], 0)[0])


def stop_trace(service: Service, id_: bytes) -> None:
    """End the session with this number, as its owner."""
    service.start(bytes([TRACE_STOP, TRACE_ID]) + struct.pack("<I", int(id_)))
    while service.printed(INFO_LINE)[1] == INFO_TIMEOUT:
        pass
    service.end()


def end_with_the_caller() -> ctypes.CDLL:
    process = ctypes.CDLL(None)
    process.prctl(PR_SET_PDEATHSIG, SIGKILL)
    return process


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _string(tag: int, text: bytes) -> bytes:
    return bytes([tag]) + struct.pack("<H", len(text)) + text


if __name__ == "__main__":
    commands: dict[str, Callable[..., int]] = {"version": version, "validate": validate, "trace": trace}
    os._exit(commands[sys.argv[1]](*sys.argv[2:]))  # a library of 3.0 may crash while it is unloaded, when all is done
