"""Says which version a Firebird client library is, in a process that imports almost nothing.

``python -I -S client_version.py LIBRARY`` loads it and prints what ``isc_get_client_version`` answers:
"LI-V6.3.4.1812 Firebird 5.0" of 5.0.4. Where it cannot be loaded the loader's words go to standard error.
"""

from __future__ import annotations

import ctypes
import os
import sys

ANSWER_BYTES = 256  # it answers at most that many


def main() -> int:
    try:
        library = ctypes.CDLL(sys.argv[1])
        answer = ctypes.create_string_buffer(ANSWER_BYTES)
        library.isc_get_client_version(answer)
    except (OSError, AttributeError) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    print(answer.value.decode(errors="replace"), flush=True)
    return 0


if __name__ == "__main__":
    os._exit(main())  # a library of 3.0 may crash while it is unloaded, when all is done
