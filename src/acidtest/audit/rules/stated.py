"""What a file of the kit shows outright: each rule is a kind of ``Statement`` and the sentence for it."""

from __future__ import annotations

from collections.abc import Iterator

from acidtest.audit.bench import Bench, StatementKind
from acidtest.audit.result_text import and_more
from acidtest.finding import Found, Rule, Severity, rule


def _stated(name: str, severity: Severity, kind: StatementKind, sentence: str, place: str, **texts: str) -> Rule[Bench]:
    """A rule with one finding for all statements of ``kind``; ``sentence`` is formatted with the first of them, and
    ``place`` is what each of the others is: "line"."""

    def find(bench: Bench) -> Iterator[Found]:
        if stated := bench.said(kind):
            more = and_more(len(stated) - 1, place, before="the like in ")
            yield Found(f"{sentence.format(stated[0])}{more}.", tuple(one.where.says(one.text) for one in stated))

    return rule(name, severity=severity, **texts)(find)


best_of = _stated(
    "best-of", "doubtful", "best-of", "Of several runs the best is shown in {0.where.file}: “{0.text}”", "result",
    says="The best of several runs is reported: more runs make it better, and it is nobody's usual day.",
    remedy="Report the median with an interval.",
    disproved_by="the figures of all runs, of which the published one is the median",
    source="G. Fleming, J. Wallace: How not to lie with statistics (CACM 1986); Kalibera and Jones (ISMM 2013)",
)  # fmt: skip
reload_needs_restart = _stated(
    "reload-needs-restart", "doubtful", "reloaded", "{0.text} holds from the next start on, and a reload follows",
    "setting",
    says="A setting that PostgreSQL reads only when it starts is changed, and the server is only reloaded.",
    remedy="Restart the server, and show pg_settings with pending_restart after it.",
    disproved_by="the setting as the server reports it while it is measured",
    source="PostgreSQL's manual: pg_settings, context postmaster; ALTER SYSTEM",
)  # fmt: skip
tpc_words = _stated(
    "tpc-words", "note", "tpc-word", "A result that is not audited is called {0.text}", "result",
    says="A tool prints a word that the TPC reserves for audited results.",
    remedy='Say "new orders a minute" (NOPM) and "derived from TPC-C, not comparable with TPC results".',
    disproved_by="an audited result in the TPC's list",
    source="TPC Policies, section 8 (fair use); TPC-C clause 8; HammerDB's manual on the term tpmC",
)  # fmt: skip
version_not_pinned = _stated(
    "version-not-pinned", "note", "unfixed version", "No version is fixed of {0.text}", "line",
    says="What is measured, or measures, is taken in whatever version is the newest on that day.",
    remedy="Name a version, or a digest, of every image and tool.",
    disproved_by="a result that prints the version it is of",
    source="ACM, Artifact Review and Badging: what others need to repeat a result",
)  # fmt: skip
volume_mounted_elsewhere = _stated(
    "volume-mounted-elsewhere", "note", "volume-elsewhere", "There is {0.text}", "volume",
    says="A volume is mounted beside the place where its container's image keeps the data: the data lie in another, "
    "anonymous volume, on whatever storage that has.",
    remedy="Mount the volume at the data directory of the image, or set the directory (PGDATA, --datadir, --dbpath).",
    disproved_by="docker inspect of the container that was measured, with its data directory in the volume",
    source="The images' own documentation on Docker Hub: where to store data",
)  # fmt: skip
