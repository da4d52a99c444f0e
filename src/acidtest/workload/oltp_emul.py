"""OLTP-EMUL, from a checkout of the user's: its own scripts make the database, its stored procedures do the work."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from acidtest.families import FIREBIRD
from acidtest.journal.models import Warning
from acidtest.journal.protocol import Message, RunPhase, WorkloadMessage
from acidtest.keys import Fixed, Form, Kept, Unset
from acidtest.workload import checkout
from acidtest.workload.base import Needs, Question, Refused, Runner, WorkloadSpec

EMPTY_BYTES = 80_000_000  # with its objects and its tables of settings, wares and partners
DOCUMENT_BYTES = 20_000  # with the rows that it is spread over
DOCUMENTS_PER_S = 20
NEVER_MINUTES = "99999999"  # the kit's own for "not at all"


# The kit's own reports, with the columns that its final report shows. Its procedure report_exceptions reads sums that
# hold nothing of what a failed operation has logged: the log itself is asked as well.
_LOGGED = """\
(select p.fb_gdscode, e.fb_mnemona, p.unit, count(*) as cnt from perf_log p
  left join fb_errors e on e.fb_gdscode = p.fb_gdscode
  where p.exc_unit = '#' and p.dts_beg >= (select max(w.dts_beg) from perf_log w where w.unit = 'perf_watch_interval')
  group by 1, 2, 3)"""
_EXCEPTIONS = ("fb_gdscode", "fb_mnemona", "unit", "cnt")
QUESTIONS = (
    Question(
        "Performance in total",
        ("business_action", "avg_times_per_minute", "avg_elapsed_ms", "successful_times_done"),
        "report_perf_total",
    ),
    Question(
        "Performance in detail",
        (
            "unit", "cnt_all", "cnt_ok", "cnt_err", "err_prc", "ok_min_ms", "ok_max_ms", "ok_avg_ms", "cnt_lk_confl",
            "cnt_user_exc",
        ),
        "report_perf_detailed",
        by_kind=True,
    ),
    Question("Exceptions", _EXCEPTIONS, "report_exceptions"),
    Question("Exceptions in the kit's log", _EXCEPTIONS, _LOGGED),
)  # fmt: skip


class KitScript(Message):
    path: str
    text: str


class KitSetting(Message):
    mode: str
    code: str
    value: str
    added: bool


class KitSession(Message):
    script: KitScript
    actions: int


class OltpEmulWorkload(WorkloadMessage):
    name: Literal["oltp_emul"] = "oltp_emul"
    title: str
    build: tuple[KitScript, ...]
    split: tuple[KitScript, ...]
    fill: tuple[KitScript, ...]
    adjust: tuple[KitScript, ...]
    settings: tuple[KitSetting, ...]
    as_kit: KitSession | None
    units: tuple[str, ...]
    init_docs: int
    expected_workers: int
    no_auto_undo: bool
    separate_workers: bool
    update_conflict_percent: int
    warmup_ms: int
    measured_ms: int | None


class OltpEmul(WorkloadSpec):
    """OLTP-EMUL of the Firebird project: orders, invoices, reserves and payments of a trading company."""

    UNIT = "operations"
    CAN_BE_SPLIT = False
    CAN_WAIT = False
    TRANSACTION = "operations"
    LOAD_S = 40.0
    # The settings that differ by how it is driven are written anew before each run.
    NOT_LOADED = frozenset({"title", "settings", "as_kit", "warmup_ms", "measured_ms"})
    NEEDS: ClassVar[Mapping[str, Needs]] = {"retries": Needs("sessions", ("prepared",))}

    CONDITIONS: ClassVar[Mapping[str, str]] = {
        "the_kit_has_not_halted": "the kit itself has found a critical error and halted its test",
        "documents_match_their_distribution": "documents and the rows that their amounts are spread over disagree",
        "each_distribution_has_its_document": "rows are left of documents that are gone",
    }

    kind: Literal["oltp_emul"] = "oltp_emul"
    path: Annotated[
        str,
        Form('"oltp-emul/", which begins at the directory of the experiment\'s file'),
        Fixed("make it two workloads, each a table with a path"),
    ] = Field(min_length=1, description="This folder is a checkout of OLTP-EMUL; it is only read.")
    config: Annotated[
        str | None,
        Form('"oltp40_config.nix"'),
        Unset("src/oltp40_config.nix of the checkout"),
        Fixed("make it two workloads, each a table with a config"),
    ] = Field(default=None, description="This file is the kit's configuration.")
    working_mode: Annotated[str | None, Form('"small_03"'), Unset("as the configuration says")] = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_]{1,20}$",
        description="The kit's settings of this name say how much work an operation does.",
    )
    init_docs: Annotated[int | None, Unset("as the configuration says")] = Field(
        default=None, ge=0, le=10_000_000, description="The database is filled with this many documents first."
    )
    sessions: Literal["as_kit", "prepared"] = Field(
        default="as_kit",
        description="A terminal runs every statement of the kit's own script for isql, each prepared anew, and "
        "connects anew as often as the kit does; or it prepares once what an operation needs, and runs no more.",
    )
    # The kit tries nothing again: a session goes on with another operation.
    retries: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="An operation refused for another one's sake is tried again this often; the kit never does.",
    )
    files: Annotated[dict[str, str], Kept()] = Field(
        default_factory=dict, description="The SHA-256 of each file that was read of it, when the experiment was read."
    )
    units_kept: Annotated[tuple[str, ...], Kept()] = Field(
        default=(), description="The kit's business operations, when the experiment was read."
    )
    kit: checkout.Kit | None = Field(default=None, exclude=True)  # None of a recorded one

    @classmethod
    def completed(cls, table: Mapping[str, Any], base: Path) -> dict[str, Any]:
        path, config = table.get("path"), table.get("config")
        if not isinstance(path, str) or not path or not isinstance(config, str | None):
            return dict(table)  # which the model refuses
        kit = checkout.read(base / path, base / config if config else None)
        return {**table, "kit": kit, "files": dict(kit.hashes), "units_kept": kit.units}

    @model_validator(mode="after")
    def _keeps_its_sessions(self) -> Self:
        if self.connect != "once":
            raise ValueError('"connect" must be "once": what the kit says to a session goes with it')
        return self

    def transaction_kinds(self) -> tuple[str, ...]:
        return self.units_kept

    # ---------------------------------------------------------------------------------------- in the rig's words

    def _sound(self) -> checkout.Kit:
        assert self.kit is not None, "a recorded workload has no files"
        return self.kit

    def _documents(self) -> int:
        return int(self._sound().config["init_docs"]) if self.init_docs is None else self.init_docs

    def _settings(self) -> tuple[KitSetting, ...]:
        """What the kit writes of its configuration into its table of settings, in the words of that table."""
        config = self._sound().config
        never = config["recalc_idx_min_interval"] == "0"
        changed = {
            "ENABLE_MON_QUERY": config["mon_unit_perf"],
            "UNIT_SELECTION_METHOD": config["unit_selection_method"],
            "BUILD_WITH_SPLIT_HEAVY_TABS": config["create_with_split_heavy_tabs"],
            "BUILD_WITH_QD_COMPOUND_ORDR": config["create_with_compound_columns_order"],
            "BUILD_WITH_SEPAR_QDISTR_IDX": config["create_with_separate_qdistr_idx"],
            "USED_IN_REPLICATION": config["used_in_replication"],
            "SEPARATE_WORKERS": config["separate_workers"],
            "WORKERS_COUNT": str(self.terminals),
            "UPDATE_CONFLICT_PERCENT": config["update_conflict_percent"],
            "HALT_TEST_ON_ERRORS": config["halt_test_on_errors"],
            "QMISM_VERIFY_BITSET": config["qmism_verify_bitset"],
            "RECALC_IDX_MIN_INTERVAL": NEVER_MINUTES if never else config["recalc_idx_min_interval"],
        }
        if self._mode() in ("DEBUG_01", "DEBUG_02"):
            changed |= {"ENABLE_RESERVES_WHEN_ADD_INVOICE": "0", "ORDER_FOR_OUR_FIRM_PERCENT": "0"}
        added = {
            "WARM_TIME": str(int(self.warmup_s // 60)),
            "TEST_INTERVALS": config["test_intervals"],
            "USE_ES": config["use_es"],
            "CREATE_WITH_DEBUG_OBJECTS": config["create_with_debug_objects"],
            "CREATE_WITH_SPLIT_HEAVY_TABS": config["create_with_split_heavy_tabs"],
            "CREATE_WITH_SEPARATE_QDISTR_IDX": config["create_with_separate_qdistr_idx"],
            "CREATE_WITH_COMPOUND_COLUMNS_ORDER": config["create_with_compound_columns_order"],
        }
        # The kit's own connections to other servers, its users and its extra connections: none is made.
        of_connections = {
            "CONNECT_STR": "connect 'the same database';",
            "HOST": "localhost",
            "PORT": "3050",
            "USR": "SYSDBA",
            "PWD": "none",
            "TMP_WORKER_ROLE_NAME": "",
            "TMP_WORKER_USER_PREFIX": "",
            "TMP_WORKER_USER_PSWD": "",
            "CONN_POOL_SUPPORT": "0",
            "RESETTING_SUPPORT": "0",
        }
        return (
            KitSetting(mode="INIT", code="WORKING_MODE", value=self._mode(), added=False),
            *(KitSetting(mode="COMMON", code=code, value=of, added=False) for code, of in changed.items()),
            *(KitSetting(mode="COMMON", code=code, value=of, added=True) for code, of in added.items()),
            *(KitSetting(mode="INIT", code=code, value=of, added=True) for code, of in of_connections.items()),
        )

    def _mode(self) -> str:
        return (self.working_mode or self._sound().config["working_mode"]).upper()

    def message(self) -> OltpEmulWorkload:
        kit = self._sound()
        config = kit.config

        def scripts(*names: str) -> tuple[KitScript, ...]:
            return tuple(KitScript(path=kit.scripts[name].path, text=kit.scripts[name].text) for name in names)

        return OltpEmulWorkload(
            title=kit.title,
            build=scripts(*checkout.BUILD),
            split=scripts(kit.split()),
            fill=scripts(*checkout.FILL),
            adjust=scripts(*checkout.ADJUST),
            settings=self._settings(),
            as_kit=KitSession(
                script=KitScript(path=kit.session.path, text=kit.session.text),
                actions=int(config[checkout.ACTIONS]),
            )
            if self.sessions == "as_kit"
            else None,
            units=kit.units,
            init_docs=self._documents(),
            expected_workers=int(config["expected_workers"]),
            no_auto_undo=config["no_auto_undo"] == "1",
            separate_workers=config["separate_workers"] == "1",
            update_conflict_percent=int(config["update_conflict_percent"]),
            warmup_ms=round(self.warmup_s * 1000),
            measured_ms=None if self.duration_s is None else round(self.duration_s * 1000),
        )

    def run_phase(self) -> RunPhase:
        phase = super().run_phase()
        return phase.model_copy(update={"connect": "as_recorded"}) if self.sessions == "as_kit" else phase

    # ---------------------------------------------------------------------------------------- its database

    def loaded_text(self) -> str:
        """A sum of it, for the scripts are long; with the settings, which act while it is filled as well."""
        filling = [setting for setting in self._settings() if setting.code not in ("WORKERS_COUNT", "WARM_TIME")]
        text = super().loaded_text() + "".join(setting.model_dump_json() for setting in filling)
        return f"oltp_emul {hashlib.sha256(text.encode()).hexdigest()}"

    def loaded_bytes(self) -> int:
        return EMPTY_BYTES + self._documents() * DOCUMENT_BYTES

    def transaction_bytes(self) -> int:
        return DOCUMENT_BYTES

    def history_bytes(self) -> int:
        operations = self.count or (self.duration_s or 0) * (self.rate_per_s or DOCUMENTS_PER_S * self.terminals)
        return int(operations * self.transaction_bytes())

    def load_s(self) -> float:
        return self.LOAD_S + self._documents() / DOCUMENTS_PER_S

    # ---------------------------------------------------------------------------------------- what it needs and shows

    def refused(self, on: Runner) -> Refused | None:
        if on.family != FIREBIRD.name:
            return Refused("cannot run workload oltp_emul, whose procedures are Firebird's")
        if not on.private:
            return Refused("is a server by URL, and workload oltp_emul makes a database of its own")
        return None

    def may_write(self) -> bool:
        return True

    def warnings(self, engine: str, *, has_procedures: bool) -> list[Warning]:
        text = (
            "Transactions begin as OLTP-EMUL has them (no wait; snapshot, from 4.0 on read committed read consistency "
            "where the engine has it), whatever the settings isolation and lock_resolution say; every session is "
            "SYSDBA's, as with the kit's mon_query_role and mon_usr_prefix commented out."
        )
        return [Warning(code="as-the-kit-has-it", about="goodput_per_s", text=text)]

    def questions(self) -> tuple[Question, ...]:
        return QUESTIONS
