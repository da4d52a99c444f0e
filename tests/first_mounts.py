"""The mounts of a time when no test had made one.

A mount namespace begins with a copy of all mounts, and holds the devices of those that tests have made: other tests,
which let go of them, would find them in use. So whatever needs a namespace here begins with this copy.
"""

from __future__ import annotations

import os
import subprocess

# What is mounted from loops and by FUSE is somebody's who may want to let go of it.
MOUNTS = r"""
mounts=$(cat /proc/self/mounts)
while read -r source point type rest; do
  case "$source $type" in /dev/loop*|*\ fuse*) umount -l "$point" ;; esac
done <<END
$mounts
END
echo; exec cat
"""


class Mounts:
    """A copy of the mounts, made by the first process of a run before any test begins; it ends with that process."""

    NAME = "ACIDTEST_TESTS_MOUNTS"  # the variable that says where they are

    def __init__(self) -> None:
        if self.NAME in os.environ or os.geteuid() != 0:
            return
        command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        assert self._process.stdout
        if self._process.stdout.readline():
            os.environ[self.NAME] = f"/proc/{self._process.pid}/ns/mnt"
