"""Brings an archive from a Maven repository; what arrives is what the repository's own checksum says."""

from __future__ import annotations

import hashlib
import os
import xml.etree.ElementTree as tree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acidtest.errors import MachineLacks
from acidtest.files import fsync_path

CENTRAL = "https://repo1.maven.org/maven2"
VARIABLE = "ACIDTEST_MAVEN_REPOSITORY"
SILENCE_S = 60
CHUNK_BYTES = 1 << 20


def repository() -> str:
    """``$ACIDTEST_MAVEN_REPOSITORY``, else the mirror of central in ``~/.m2/settings.xml``, else Maven Central."""
    return (os.environ.get(VARIABLE) or _mirror(Path.home() / ".m2" / "settings.xml") or CENTRAL).rstrip("/")


def maven(group: str, artifact: str, version: str, target_file: Path) -> None:
    """Write the jar ``group:artifact:version`` to ``target_file``, on the drive.

    Checked against the sha256 published beside it, or the sha1 where there is none, as with older jars. Proxies are
    those of the environment (``https_proxy``). Raises MachineLacks when it cannot be brought or is not what the
    checksum says; ``target_file`` may then be there in part.
    """
    name = f"{group}:{artifact}:{version}"
    url = f"{repository()}/{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"
    with reaching(f"{name} could not be brought from {repository()}", f"name a repository that has it in {VARIABLE}"):
        kind, wanted = _published(url)
        digest = fetch(url, target_file, kind)
    if digest != wanted:
        raise MachineLacks(f"{name}: what arrived is not what the repository's {kind} says", "try again")
    fsync_path(target_file)


@contextmanager
def reaching(what: str, otherwise: str) -> Iterator[None]:
    """Raise MachineLacks, that says ``what`` failed and what to do, for all that may go wrong with the network."""
    import http.client
    import urllib.error

    try:
        yield
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ValueError) as error:
        words = getattr(error, "reason", None) or error
        raise MachineLacks(f"{what}: {words}", f"check the network, or {otherwise}") from None


def _published(url: str) -> tuple[str, str]:
    """The strongest checksum beside ``url``: its kind, and its hexadecimal digits."""
    import urllib.error
    import urllib.request

    for kind in ("sha256", "sha1"):
        try:
            with urllib.request.urlopen(f"{url}.{kind}", timeout=SILENCE_S) as answer:
                # Some hold the file's name after the digits, as sha1sum(1) writes it.
                return kind, answer.read(1000).decode(errors="replace").partition(" ")[0].strip().lower()
        except urllib.error.HTTPError as error:
            if error.code != 404 or kind == "sha1":
                raise
    raise AssertionError


def fetch(url: str, target: Path, kind: str) -> str:
    """Write what ``url`` gives to ``target`` and return its checksum of this ``kind``. Raises what urllib raises."""
    import urllib.request

    digest = hashlib.new(kind)
    with urllib.request.urlopen(url, timeout=SILENCE_S) as answer, target.open("wb") as file:
        while chunk := answer.read(CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _mirror(settings: Path) -> str | None:
    """The mirror for central; see https://maven.apache.org/guides/mini/guide-mirror-settings.html."""
    try:
        root = tree.parse(settings).getroot()
    except (OSError, tree.ParseError):
        return None
    for mirror in root.findall("{*}mirrors/{*}mirror"):
        of = {word.strip() for word in (mirror.findtext("{*}mirrorOf") or "").split(",")}
        url = (mirror.findtext("{*}url") or "").strip()
        if url and "!central" not in of and of & {"*", "central", "external:*"}:
            return url
    return None
