"""A kit with the layout and the contract of OLTP-EMUL, as far as acidtest keeps to it, and with two operations of its own:
one writes a document, one has nothing to work on. Beside them one that conflicts and one that halts the test, which only
some tests give a weight."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

DDL = """\
-- set term is isql's own; what begins here ends at the next ^
set bail on;
create sequence g_success_counter;
create sequence g_stop_test;
create sequence g_init_pop;
create sequence g_common;
create sequence g_printed;
commit;
create exception ex_nothing_to_do 'nothing to do';
create table settings (working_mode varchar(20), mcode varchar(80), svalue varchar(160), unique (working_mode, mcode));
create table business_ops (unit varchar(80) primary key, kind varchar(20), weight integer);
create table fb_errors (fb_gdscode integer primary key, fb_mnemona varchar(64));
create table perf_log (unit varchar(80), info varchar(255), exc_unit char(1), exc_info varchar(255), fb_gdscode integer,
  stack varchar(512), dts_beg timestamp, dts_end timestamp, elapsed_ms bigint, aggregated smallint default 0);
create table perf_agg (unit varchar(80), total_cnt integer, total_ms bigint);
create global temporary table tmp$perf_log (unit varchar(80)) on commit delete rows;
create table doc_list (id bigint primary key, optype_id bigint, worker_id smallint not null);
create table doc_data (id bigint primary key, doc_id bigint, qty numeric(12,3));
create table qdistr (snd_id bigint, snd_optype_id bigint, rcv_optype_id bigint, snd_qty numeric(12,3));
create table qstorned (snd_id bigint, snd_optype_id bigint, rcv_optype_id bigint, snd_qty numeric(12,3));
create table locked (id integer primary key, n bigint);
commit;
create view v_perf_agg as select * from perf_agg;
create view v_qdistr_source as select * from qdistr;
create view v_qstorned_source as select * from qstorned;
create view v_rules_for_qdistr as
  select cast(1000 as bigint) as snd_optype_id, cast(1200 as bigint) as rcv_optype_id, 1 as storno_sub from rdb$database;
create view v_est_perf_for_last_minute as
  select '' as test_ends_at, rdb$get_context('USER_SESSION', 'GDS_RESULT') as last_operation_gds_code,
    '' as estimated_perf_since_test_beg from rdb$database;
commit;
"""

SP = """\
set term ^;
create or alter procedure sp_stoptest returns (need_to_stop smallint) as
begin
  need_to_stop = sign(gen_id(g_stop_test, 0));
  if (need_to_stop <> 0) then suspend;
end ^
create or alter procedure sp_log(unit varchar(80), began timestamp) as
declare n bigint;
begin
  insert into perf_log (unit, dts_beg, dts_end, elapsed_ms)
    values (:unit, :began, cast('now' as timestamp), datediff(millisecond from :began to cast('now' as timestamp)));
  n = gen_id(g_success_counter, 1);
end ^
create or alter procedure sp_write_document returns (doc_id bigint) as
  declare n integer = 0;
  declare data_id bigint;
  declare began timestamp = 'now';
begin
  doc_id = gen_id(g_common, 1);
  insert into doc_list values (:doc_id, 1000, cast(rdb$get_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER') as smallint));
  data_id = gen_id(g_common, 1);
  insert into doc_data values (:data_id, :doc_id, 3);
  while (n < 3) do
  begin
    insert into qdistr values (:data_id, 1000, 1200, @PIECE@);
    n = n + 1;
  end
  if (rdb$get_context('USER_TRANSACTION', 'INIT_DATA_POP') = 1) then n = gen_id(g_init_pop, 1);
  execute procedure sp_log('sp_write_document', began);
  suspend;
end ^
create or alter procedure sp_do_nothing returns (doc_id bigint) as
begin
  in autonomous transaction do
    insert into perf_log (unit, exc_unit, fb_gdscode, dts_beg) values ('sp_do_nothing', '#', 335544517, 'now');
  exception ex_nothing_to_do;
  suspend;
end ^
create or alter procedure sp_conflict returns (n bigint) as
  declare began timestamp = 'now';
  declare i integer = 0;
begin
  update locked set n = n + 1 where id = 1;
  while (i < 20000) do i = i + 1;
  execute procedure sp_log('sp_conflict', began);
  n = 1;
  suspend;
end ^
create or alter procedure sp_halt returns (n bigint) as
begin
  n = gen_id(g_stop_test, 1);
  insert into perf_log (unit, exc_unit) values ('sp_halt_on_error', '1');
  suspend;
end ^
set term ;^
commit;
"""

COMMON = """\
set term ^;
create or alter function fn_other_rand_worker returns smallint as begin return 1; end ^
create or alter procedure srv_random_unit_choice(modes varchar(255), kinds varchar(255), no_modes varchar(255),
  no_kinds varchar(255)) returns (unit varchar(80)) as
begin
  select first 1 b.unit from business_ops b
    where b.weight > 0 and (:kinds = '' or :kinds containing b.kind) order by rand() into unit;
  suspend;
end ^
create or alter procedure srv_make_invnt_saldo returns (n integer) as begin n = 1; suspend; end ^
create or alter procedure srv_make_money_saldo returns (n integer) as begin n = 1; suspend; end ^
create or alter procedure srv_recalc_idx_stat returns (n integer) as begin n = 1; suspend; end ^
create or alter procedure srv_aggregate_perf_data(whatever smallint) returns (msg varchar(255)) as
  declare began timestamp;
begin
  if (rdb$get_context('SYSTEM', 'ISOLATION_LEVEL') <> 'SNAPSHOT' or rdb$get_context('SYSTEM', 'LOCK_TIMEOUT') <> 0) then
    exception ex_nothing_to_do 'not as the kit wants it';
  select max(dts_beg) from perf_log where unit = 'perf_watch_interval' into began;
  delete from perf_agg;
  insert into perf_agg select p.unit, count(*), sum(p.elapsed_ms) from perf_log p
    where p.dts_end >= :began and p.exc_unit is null and p.unit in (select unit from business_ops) group by 1;
  msg = 'done';
  suspend;
end ^
create or alter procedure report_perf_total returns (business_action varchar(255), avg_times_per_minute numeric(12,2),
  avg_elapsed_ms integer, successful_times_done integer) as
  declare minutes integer;
begin
  select datediff(minute from dts_beg to dts_end) from perf_log where unit = 'perf_watch_interval' into minutes;
  for select '*** OVERALL ***', sum(total_cnt), sum(total_ms) / sum(total_cnt) from perf_agg
    into business_action, successful_times_done, avg_elapsed_ms do
  begin
    avg_times_per_minute = successful_times_done / nullif(minutes, 0);
    suspend;
  end
end ^
create or alter procedure report_perf_detailed returns (unit varchar(80), cnt_all integer, cnt_ok integer, cnt_err integer,
  err_prc numeric(6,2), ok_min_ms integer, ok_max_ms integer, ok_avg_ms integer, cnt_lk_confl integer,
  cnt_user_exc integer) as
begin
  for select unit, total_cnt, total_cnt, 0, 0, 0, 0, total_ms / total_cnt, 0, 0 from perf_agg
    into unit, cnt_all, cnt_ok, cnt_err, err_prc, ok_min_ms, ok_max_ms, ok_avg_ms, cnt_lk_confl, cnt_user_exc do
    suspend;
end ^
create or alter procedure report_exceptions returns (fb_gdscode integer, fb_mnemona varchar(64), unit varchar(80),
  cnt integer) as
begin
  fb_mnemona = 'printed';
  cnt = gen_id(g_printed, 0);
  suspend;
end ^
create or alter trigger trg_connect inactive on connect as
  declare mode varchar(160);
begin
  select svalue from settings where mcode = 'WORKING_MODE' into mode;
  rdb$set_context('USER_SESSION', 'WORKING_MODE', mode);
end ^
set term ;^
commit;
"""

# As the real kit's: one insert an operation, and comments that hold others.
FILLING = """\
insert into business_ops(unit, kind, weight)
values( 'SP_Write_Document', 'creation', 60);
-- insert into business_ops(unit, kind, weight) values('sp_gone', 'creation', 60);
insert into business_ops(unit, kind, weight) values('sp_do_nothing', 'removal', @NOTHING@);
insert into business_ops(unit, kind, weight) values('sp_conflict', 'removal', @CONFLICT@);
insert into business_ops(unit, kind, weight) values('sp_halt', 'removal', @HALT@);
update business_ops set unit = lower(unit);
insert into fb_errors values (335544517, 'except');
insert into fb_errors values (335544345, 'lock_conflict');
insert into locked values (1, 0);
commit;
set term ^;
execute block as
  declare code varchar(80);
begin
  insert into settings values ('INIT', 'WORKING_MODE', '?');
  for select cast(x.code as varchar(80)) from (
    select 'ENABLE_MON_QUERY' as code from rdb$database union all select 'UNIT_SELECTION_METHOD' from rdb$database
    union all select 'BUILD_WITH_SPLIT_HEAVY_TABS' from rdb$database
    union all select 'BUILD_WITH_QD_COMPOUND_ORDR' from rdb$database
    union all select 'BUILD_WITH_SEPAR_QDISTR_IDX' from rdb$database
    union all select 'USED_IN_REPLICATION' from rdb$database union all select 'SEPARATE_WORKERS' from rdb$database
    union all select 'WORKERS_COUNT' from rdb$database union all select 'UPDATE_CONFLICT_PERCENT' from rdb$database
    union all select 'HALT_TEST_ON_ERRORS' from rdb$database union all select 'QMISM_VERIFY_BITSET' from rdb$database
    union all select 'RECALC_IDX_MIN_INTERVAL' from rdb$database) x into code do
    insert into settings values ('COMMON', :code, '?');
end ^
set term ;^
commit;
"""

# Prints a script: isql's own way of doing what a procedure cannot.
GENERATES = """\
set heading off;
set term ^;
execute block returns ("--TMP$SQL$CODE" varchar(32765)) as
begin
  "--TMP$SQL$CODE" = 'set echo off;' || ascii_char(10) || 'recreate table made_by_@NAME@ (workers varchar(160));';
  suspend;
  "--TMP$SQL$CODE" = 'commit; set transaction no wait;'
    || ' insert into made_by_@NAME@ select svalue from settings where mcode = ''WORKERS_COUNT''; commit;';
  suspend;
end ^
set term ;^
"""

# Writes what isql runs in a session, with statements that only print, and one after the commit.
SHELL = """\
#!/bin/bash
do_everything() {
 echo this function is not to be run >&2
 exit 1
}
gen_working_sql() {
 local mode=$1
 local sql=$2
 local lim=$3
 sho "begins" $log4all
 for (( i=1; i<=$lim; i++ ))
 do
cat <<EOF >>$sql
commit;
set transaction snapshot no wait; -- $mode
set heading off;
set term ^;
execute block as
  declare unit varchar(80) = 'TEST_WAS_CANCELLED';
begin
  if (not exists (select * from sp_stoptest)) then
    select p.unit from srv_random_unit_choice('', '', '', '') p into unit;
  rdb\\$set_context('USER_SESSION', 'SELECTED_UNIT', unit);
end^
set term ;^
delete from tmp\\$perf_log;
set width unit 31;
set term ^;
execute block returns (action varchar(20), unit varchar(80), printed bigint) as
begin
  action = '$i of $lim';
  unit = rdb\\$get_context('USER_SESSION', 'SELECTED_UNIT');
  printed = gen_id(g_printed, 1);
  suspend;
end
^
set term ^;
set stat on;
set term ^;
execute block as
  declare answered bigint;
begin
  begin
    rdb\\$set_context('USER_SESSION', 'GDS_RESULT', null);
    execute statement ('select count(*) from ' || rdb\\$get_context('USER_SESSION', 'SELECTED_UNIT')) into answered;
  when any do
    begin
      rdb\\$set_context('USER_SESSION', 'GDS_RESULT', gdscode);
      exception;
    end
  end
end^
set term ;^
set stat off;
select test_ends_at, last_operation_gds_code from v_est_perf_for_last_minute;
set bail on;
set term ^;
execute block as
begin
  rdb\\$set_context('USER_SESSION', 'SELECTED_UNIT', null);
  rdb\\$set_context('USER_SESSION', 'GDS_RESULT', null);
  rdb\\$set_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER',
    rdb\\$get_context('USER_SESSION', 'WORKER_SEQ_NUMB_4RESTORE'));
end^
set term ;^
set bail off;
commit; ---- [ 1 ]
EOF
 done
 echo "select 'done' from rdb\\$database;" >>$sql
} # end of gen_working_sql()
do_everything
"""

CONFIG = """\
   # Comments, as the kit has them.
   fbc = /opt/firebird/bin
   working_mode = small_03
   use_es = 0
   mon_unit_perf = 0
   used_in_replication = 0
   sleep_max = 0
   unit_selection_method = random
   init_docs = 7
   expected_workers = 100
   update_conflict_percent = 0
   recalc_idx_min_interval = 30
   qmism_verify_bitset = 1
   no_auto_undo = 1
   separate_workers = 1
   create_with_split_heavy_tabs = 1
   create_with_separate_qdistr_idx = 0
   create_with_compound_columns_order = most_selective_first
   create_with_debug_objects = 1
   halt_test_on_errors = /CK/
   test_intervals = 30
   detailed_info = 0
   actions_todo_before_reconnect = 10
"""


def write(path: Path, *, nothing: int = 60, conflict: int = 0, halt: int = 0, piece: str = "1") -> Path:
    """Makes the kit in the new folder ``path``. Operations weigh as said; a document of 3 is spread in pieces of ``piece``."""
    source = path / "src"
    source.mkdir(parents=True)
    weights: Mapping[str, object] = {"@NOTHING@": nothing, "@CONFLICT@": conflict, "@HALT@": halt, "@PIECE@": piece}
    files = {
        "oltp30_DDL.sql": DDL,
        "oltp30_sp.sql": SP,
        "oltp_common_sp.sql": COMMON,
        "oltp_misc_debug.sql": "-- nothing\nset echo off;\n",
        "oltp_main_filling.sql": FILLING,
        "oltp_data_filling.sql": "insert into perf_log (unit, info) values ('filled', 'yes; it is');\ncommit;\n",
        "oltp40_config.nix": CONFIG,
        "1run_oltp_emul.sh": SHELL,
    }
    for name in ("split_heavy_tabs_0", "split_heavy_tabs_1", "adjust_DDL", "replication_DDL", "adjust_eds_calls",
                 "adjust_eds_perf"):  # fmt: skip
        files[f"oltp_{name}.sql"] = GENERATES.replace("@NAME@", name)
    for name, text in files.items():
        made = text
        for mark, value in weights.items():
            made = made.replace(mark, str(value))
        (source / name).write_text(made)
    return path
