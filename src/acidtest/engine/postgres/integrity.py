"""What pg_amcheck asks, as questions for single-user mode: every B-tree against its table, and every table."""

from __future__ import annotations

import re

CHECK = "amcheck"
# One line each, as single-user mode reads them; see https://www.postgresql.org/docs/current/amcheck.html.
CHECK_INDEXES = (
    "do $$ declare i oid; begin for i in select x.indexrelid from pg_index x join pg_class c on c.oid = x.indexrelid "
    "join pg_am a on a.oid = c.relam where a.amname = 'btree' and c.relpersistence <> 't' and x.indisready "
    "and x.indisvalid loop perform bt_index_check(i, true); end loop; end $$"
)
CHECK_HEAPS = (
    "do $$ declare t regclass; f record; begin for t in select oid from pg_class where relkind in ('r', 't', 'm') "
    "and relpersistence <> 't' loop for f in select * from verify_heapam(t) loop "
    "raise data_corrupted using message = format('%s, block %s: %s', t, f.blkno, f.msg); end loop; end loop; end $$"
)
FOUND_BROKEN = re.compile(r"\b(XX001|XX002)\b|could not read block|invalid page in block")


def questions(major: int) -> list[str]:
    """Tables can be verified from 14 on."""
    return ["create extension if not exists amcheck", CHECK_INDEXES, *([CHECK_HEAPS] if major >= 14 else [])]
