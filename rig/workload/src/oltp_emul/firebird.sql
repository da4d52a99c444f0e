-- What is asked of OLTP-EMUL's own procedures, tables and context variables, in the order of its scripts.

-- name: activate
-- The session variables of the kit come from this trigger.
alter trigger trg_connect active

-- name: open-watch
-- Where the measurement lies: the kit's own rows say so to its procedures. Nothing ends it but acidtest.
execute block as
begin
  delete from v_perf_agg;
  delete from perf_log where unit in
    ('perf_watch_interval', 'sp_halt_on_error', 'dump_dirty_data_semaphore', 'dump_dirty_data_progress', 'crash_watch_interval');
  insert into perf_log (unit, info, exc_info, dts_beg, dts_end, elapsed_ms) values
    ('perf_watch_interval', 'active', 'by acidtest', dateadd({warmup_ms} millisecond to cast('now' as timestamp)),
     dateadd(30 day to cast('now' as timestamp)), -1);
  insert into perf_log (unit, info, stack, dts_beg, dts_end, elapsed_ms) values
    ('dump_dirty_data_semaphore', '', 'by acidtest', null, null, -1);
end

-- name: restart
-- Not "alter sequence ... restart with 0", after which a sequence is at -1 from 4.0 on.
execute block as
  declare was bigint;
begin
  was = gen_id(g_success_counter, -gen_id(g_success_counter, 0));
  was = gen_id(g_stop_test, -gen_id(g_stop_test, 0));
end

-- name: move-watch
-- The measurement begins so many milliseconds from now: said to this session, and to later ones.
execute block (first smallint = ?, ms bigint = ?) as
  declare began timestamp;
begin
  began = dateadd(ms millisecond to cast('now' as timestamp));
  rdb$set_context('USER_SESSION', 'PERF_WATCH_BEG', began);
  rdb$set_context('USER_SESSION', 'PERF_WATCH_END', dateadd(30 day to began));
  if (first = 1) then
    update perf_log set dts_beg = :began where unit = 'perf_watch_interval';
end

-- name: close-watch
-- The measurement took so many milliseconds, or has just ended.
execute block as
begin
  update perf_log set info = 'closed', dts_end = {end} where unit = 'perf_watch_interval';
end

-- name: aggregate
select msg from srv_aggregate_perf_data(1)

-- name: worker
execute block as
begin
  rdb$set_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER', '{worker}');
  rdb$set_context('USER_SESSION', 'WORKER_SEQ_NUMB_4RESTORE', '{worker}');
end

-- name: choose
execute block (conflicts double precision = ?) returns (unit varchar(80)) as
begin
  if (exists (select * from sp_stoptest)) then
    exit;
  if (rand() * 100 < conflicts) then
    rdb$set_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER', fn_other_rand_worker());
  select p.unit from srv_random_unit_choice('', '', '', '') p into unit;
  rdb$set_context('USER_SESSION', 'SELECTED_UNIT', unit);
  rdb$set_context('USER_SESSION', 'ADD_INFO', null);
  suspend;
end

-- name: repeat
execute block (unit varchar(80) = ?) as
begin
  rdb$set_context('USER_SESSION', 'SELECTED_UNIT', unit);
  rdb$set_context('USER_SESSION', 'ADD_INFO', null);
end

-- name: choose-to-fill
execute block (workers int = ?) returns (unit varchar(80)) as
begin
  rdb$set_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER', cast(0.5 + rand() * workers as int));
  select p.unit from srv_random_unit_choice('', 'creation,state_next,service,', '', 'removal') p into unit;
  rdb$set_context('USER_SESSION', 'SELECTED_UNIT', unit);
  rdb$set_context('USER_SESSION', 'ADD_INFO', null);
  suspend;
end

-- name: clear
delete from tmp$perf_log

-- name: do
-- What a unit has done is undone where it fails; how it failed is told, and not raised, so that its code is known.
execute block returns (gds int, said varchar(64)) as
  declare unit varchar(80);
  declare answered bigint;
begin
  unit = rdb$get_context('USER_SESSION', 'SELECTED_UNIT');
  rdb$set_context('USER_SESSION', 'GDS_RESULT', null);
  rdb$set_context('USER_SESSION', 'TOTAL_OPS_SUCCESS_INFO', null);
  rdb$set_context('USER_SESSION', 'APP_TRANSACTION', current_transaction);
  begin
    execute statement ('select count(*) from ' || unit) into answered;
    when any do
    begin
      gds = gdscode;
      rdb$set_context('USER_SESSION', 'GDS_RESULT', gds);
    end
  end
  if (gds is not null) then
    select max(e.fb_mnemona) from fb_errors e where e.fb_gdscode = :gds into said;
  suspend;
end

-- name: do-to-fill
execute block returns (gds int, said varchar(64)) as
  declare unit varchar(80);
  declare answered bigint;
  declare documents bigint;
begin
  unit = rdb$get_context('USER_SESSION', 'SELECTED_UNIT');
  rdb$set_context('USER_TRANSACTION', 'INIT_DATA_POP', 1);
  documents = gen_id(g_init_pop, 0);
  begin
    execute statement ('select count(*) from ' || unit) into answered;
    when any do
    begin
      gds = gdscode;
      documents = gen_id(g_init_pop, documents - gen_id(g_init_pop, 0));
    end
  end
  if (gds is not null) then
    select max(e.fb_mnemona) from fb_errors e where e.fb_gdscode = :gds into said;
  suspend;
end

-- name: filled
select gen_id(g_init_pop, 0) from rdb$database

-- name: begin-to-fill
execute block as
  declare was bigint;
begin
  was = gen_id(g_init_pop, -gen_id(g_init_pop, 0));
end

-- name: service
select count(*) from srv_make_invnt_saldo

-- name: service
select count(*) from srv_make_money_saldo

-- name: service
select count(*) from srv_recalc_idx_stat

-- name: estimate
-- The kit asks for it after each unit.
select test_ends_at, last_operation_gds_code, estimated_perf_since_test_beg from v_est_perf_for_last_minute

-- name: forget
execute block as
begin
  rdb$set_context('USER_SESSION', 'SELECTED_UNIT', null);
  rdb$set_context('USER_SESSION', 'GDS_RESULT', null);
  rdb$set_context('USER_SESSION', 'ADD_INFO', null);
  rdb$set_context('USER_SESSION', 'APP_TRANSACTION', null);
  rdb$set_context('USER_SESSION', 'TOTAL_OPS_SUCCESS_INFO', null);
  rdb$set_context('USER_SESSION', 'WORKER_SEQUENTIAL_NUMBER', rdb$get_context('USER_SESSION', 'WORKER_SEQ_NUMB_4RESTORE'));
end

-- name: isolation
select mon$isolation_mode from mon$transactions where mon$transaction_id = current_transaction

-- name: units
select trim(unit) from business_ops

-- name: halted
select count(*) from perf_log where unit = 'sp_halt_on_error' and exc_unit in ('1', '5')

-- name: documents
-- As the kit's srv_find_qd_qs_mism checks each document, of all at once: an amount is as large as its rows in QDistr and
-- QStorned, whatever tables those are split into. A client's refusal (1100) has none; 3400 goes by the rule of 3300.
select count(*) from (
  select x.id from (
    select d.id, r.snd_optype_id as snd, r.rcv_optype_id as rcv, d.qty as qty, 1 as of_document
    from doc_list h join doc_data d on d.doc_id = h.id
    join v_rules_for_qdistr r on r.snd_optype_id = iif(h.optype_id = 3400, 3300, h.optype_id) and coalesce(r.storno_sub, 1) = 1
    where h.optype_id <> 1100
    union all
    select q.snd_id, q.snd_optype_id, q.rcv_optype_id, -q.snd_qty, 0 from v_qdistr_source q
    union all
    select s.snd_id, s.snd_optype_id, s.rcv_optype_id, -s.snd_qty, 0 from v_qstorned_source s
  ) x group by x.id, x.snd, x.rcv having sum(x.of_document) > 0 and sum(x.qty) <> 0)

-- name: orphans
select count(*) from (
  select x.id from (
    select d.id, 1 as of_document from doc_data d
    union all
    select q.snd_id, 0 from v_qdistr_source q
    union all
    select s.snd_id, 0 from v_qstorned_source s
  ) x group by x.id having sum(x.of_document) = 0)
