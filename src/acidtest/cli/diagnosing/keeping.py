"""Keeps a diagnosis in a directory."""

from __future__ import annotations

import shutil
from pathlib import Path

from acidtest.errors import BadInput
from acidtest.journal import diagnosis as recordings
from acidtest.journal import reader
from acidtest.journal.diagnosis import Diagnosis
from acidtest.journal.models import Journal
from acidtest.journal.probe import ProbeRecording


def keep(out: Path, made: Diagnosis, probed: ProbeRecording | None, run: Path | None) -> Journal | None:
    """Everything into ``out``, which appears whole or not at all; the journal as it lies there. Raises BadInput."""
    from acidtest.journal import probe as probes

    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        if run is not None:
            shutil.copytree(run, unfinished)
        else:
            unfinished.mkdir()
        if probed is not None:
            probes.write(unfinished, probed)
        if made.next is not None and made.next.text:
            (unfinished / "next.toml").write_text(made.next.text, encoding="utf-8")
        recordings.write(unfinished, made)
        if out.exists():
            out.rmdir()
        unfinished.rename(out)
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written: {error.strerror or error}", "name another directory") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return reader.read(out / reader.NAME) if run is not None else None
