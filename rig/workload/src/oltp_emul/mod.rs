//! `oltp_emul`: FirebirdSQL's OLTP-EMUL, whose own scripts make the database and whose stored procedures do the work.
//!
//! The scripts come with the job, from the user's checkout. What its shell scripts do between them is done here: they run the
//! scripts and those that these print, write the configuration into its table of settings, fill the database with documents,
//! and have each session choose one operation after another. Source: `1run_oltp_emul.sh` and `oltp_isql_run_worker.sh` of
//! github.com/FirebirdSQL/oltp-emul.

mod as_kit;
mod filling;
mod isql;
mod kit;
mod worker;

use crate::common::{condition, kinds_named, number};
use crate::kind::Kind;
use as_kit::AsKit;
use filling::Filling;
use isql::{first_transaction, scripted, Isql};
pub use kit::Parameters;
use kit::{asked, begins, file, within, KitScript, KitSession, KitSetting};
use protocol::{Condition, Maintained};
use std::sync::Arc;
use transaction::{
    failed, wait, Acknowledged, Class, KindSpec, Lasts, LoadContext, Open, Outcome, Request, Script, Seat, Session,
    Value, Workload, KINDS_MAX,
};
use worker::{Start, Watch, Worker};

impl Kind for Parameters {
    const NAME: &'static str = "oltp_emul";

    fn flaw(&self) -> Option<String> {
        let many = self.units.len();
        if many == 0 || many > KINDS_MAX {
            return Some(format!("{}: {many} business operations are not 1 to {KINDS_MAX}", self.title));
        }
        match &self.as_kit {
            Some(KitSession { actions: 0, .. }) => Some(format!("{}: a session has no operations", self.title)),
            Some(KitSession { script, .. }) => {
                first_transaction(&script.path, &script.text).err().map(|error| error.message)
            }
            None => None,
        }
    }

    fn samples() -> Vec<Parameters> {
        let script = |path: &str| KitScript { path: path.into(), text: "select 1 from rdb$database;".into() };
        let setting = |added| KitSetting { mode: "COMMON".into(), code: "USE_ES".into(), value: "0".into(), added };
        let sample = |measured_ms: Option<u32>| Parameters {
            title: "oltp-emul".into(),
            build: vec![script("oltp30_DDL.sql")],
            split: vec![script("oltp_split_heavy_tabs_1.sql")],
            fill: vec![script("oltp_data_filling.sql")],
            adjust: vec![script("oltp_adjust_DDL.sql")],
            settings: vec![setting(true), setting(false)],
            as_kit: measured_ms.map(|_| KitSession {
                script: KitScript { path: "oltp.sh".into(), text: "set transaction; select 1 from t; commit;".into() },
                actions: 300,
            }),
            units: vec!["sp_client_order".into()],
            init_docs: 10,
            expected_workers: 100,
            no_auto_undo: true,
            separate_workers: true,
            update_conflict_percent: 0,
            warmup_ms: 1_000,
            measured_ms,
        };
        vec![sample(Some(60_000)), sample(None)]
    }

    fn workload(self, _: u64) -> Box<dyn Workload> {
        let kinds = kinds_named(self.units.iter());
        Box::new(Kit { given: self, kinds, start: Arc::new(Start::default()) })
    }
}

/// The kit's own: so often its service procedures run while it is filled, and one round has so many operations.
const SERVICE_EVERY: u32 = 20;
const ROUND: u32 = 50;
/// Without a document, so many operations one after another end a filling.
const WITHOUT_EFFECT_MAX: u32 = 2_000;

struct Kit {
    given: Parameters,
    kinds: &'static [KindSpec],
    /// Of the last run's terminals.
    start: Arc<Start>,
}

impl Kit {
    fn build(&self, open: Open) -> Outcome<()> {
        let mut isql = Isql::new(open);
        for script in &self.given.build {
            isql.run(&script.path, &script.text)?;
        }
        self.settle(open()?.as_mut())?;
        for script in &self.given.split {
            isql.run_generated(&script.path, &script.text)?;
        }
        for script in &self.given.fill {
            isql.run(&script.path, &script.text)?;
        }
        self.adjust(open)
    }

    /// Writes the settings into their table.
    fn settle(&self, session: &mut dyn Session) -> Outcome<()> {
        let change = "update settings set svalue = ? where working_mode = ? and mcode = ?";
        let add = "update or insert into settings (svalue, working_mode, mcode) values (?, ?, ?) matching (working_mode, mcode)";
        within(session, "set transaction no wait", |session| {
            for setting in &self.given.settings {
                let KitSetting { mode, code, value, added } = setting;
                let statement = session.prepare(if *added { add } else { change })?;
                let row = [value, mode, code].map(|text| Value::Text(text.clone()));
                if wait(session, Request::Run(statement, &row), &mut |_| {})? == 0 {
                    let message = format!("{}: its table of settings has no row {mode} {code}", self.given.title);
                    return Err(failed(Class::Other, message));
                }
            }
            Ok(())
        })
    }

    /// What the kit does to its objects before each run.
    fn adjust(&self, open: Open) -> Outcome<()> {
        let mut isql = Isql::new(open);
        for script in &self.given.adjust {
            isql.run_generated(&script.path, &script.text)?;
        }
        let mut session = open()?;
        let sql = asked(session.as_ref(), "activate")?;
        session.batch(&sql)
    }

    fn check_units(&self, session: &mut dyn Session) -> Outcome<()> {
        let rows = session.rows(&asked(session, "units")?)?;
        let mut there: Vec<String> = rows.into_iter().flatten().filter_map(Value::into_text).collect();
        let mut given = self.given.units.clone();
        there.sort();
        given.sort();
        if there == given {
            return Ok(());
        }
        let message = format!("{}: the table business_ops has other operations than its script", self.given.title);
        Err(failed(Class::Other, message))
    }

    /// Adds documents until there are as many as asked for, as the kit does with one session.
    fn fill(&self, context: &LoadContext) -> Outcome<()> {
        let wanted = i64::from(self.given.init_docs);
        context.expect(u64::from(self.given.init_docs));
        let mut session = context.session()?;
        session.batch(&asked(session.as_ref(), "begin-to-fill")?)?;
        let mut filling = Filling::prepare(session.as_mut(), &self.given)?;
        let (mut filled, mut without_effect, mut done) = (0, 0, 0);
        while filled < wanted {
            done += 1;
            if done % (ROUND * SERVICE_EVERY) == 0 {
                filling.serve(session.as_mut())?;
            }
            let (documents, failure) = filling.one(session.as_mut())?;
            without_effect = if documents > filled { 0 } else { without_effect + 1 };
            if without_effect > WITHOUT_EFFECT_MAX {
                let message = format!(
                    "{without_effect} operations one after another added no document; the last failed with: {failure}"
                );
                return Err(failed(Class::Other, message));
            }
            context.wrote((documents - filled).max(0) as u64, 0);
            filled = filled.max(documents);
        }
        Ok(())
    }
}

impl Workload for Kit {
    fn load(&self, context: &LoadContext) -> Outcome<()> {
        self.build(context.open)?;
        self.check_units(context.session()?.as_mut())?;
        if self.given.init_docs > 0 {
            self.fill(context)?;
        }
        Ok(())
    }

    fn check(&self, session: &mut dyn Session, _: &Acknowledged) -> Outcome<Vec<Condition>> {
        let mut none = |name: &str, of: &str, what: &str| {
            let sql = asked(session, of)?;
            let found = number(session, &sql)?;
            Ok(condition(name, found == 0, format!("{found} {what}")))
        };
        Ok(vec![
            none("the_kit_has_not_halted", "halted", "rows of perf_log say that it has")?,
            none("documents_match_their_distribution", "documents", "amounts that differ from their rows")?,
            none("each_distribution_has_its_document", "orphans", "amounts that are gone, but not their rows")?,
        ])
    }

    fn kinds(&self) -> &'static [KindSpec] {
        self.kinds
    }

    fn set_up(&self, open: Open) -> Outcome<()> {
        self.settle(open()?.as_mut())?;
        self.adjust(open)?;
        let mut session = open()?;
        self.check_units(session.as_mut())?;
        let watch = file(session.as_ref())?;
        for name in ["restart", "open-watch"] {
            session.batch(&watch.one(name, session.dialect(), &[("warmup_ms", &self.given.warmup_ms)])?)?;
        }
        self.start.forget();
        Ok(())
    }

    /// The kit's rows say now how long the measurement was, and its sums are made: its reports can be asked for.
    fn maintained(&self, open: Open) -> Outcome<Option<Maintained>> {
        let mut session = open()?;
        let end = match self.given.measured_ms {
            Some(measured) => format!("dateadd({measured} millisecond to dts_beg)"),
            None => "cast('now' as timestamp)".to_string(),
        };
        let close = file(session.as_ref())?.one("close-watch", session.dialect(), &[("end", &end)])?;
        session.batch(&close)?;
        drop(session);
        // A separate session: another one knows the end as it was.
        let mut session = open()?;
        let sums = asked(session.as_ref(), "aggregate")?;
        within(session.as_mut(), "set transaction snapshot no wait", |session| {
            scripted(session)?.once(&sums, &mut |_, _| {})
        })?;
        Ok(None)
    }

    fn sessions_last(&self) -> Lasts {
        self.given.as_kit.as_ref().map_or(Lasts::AsTold, |own| Lasts::Transactions(own.actions))
    }

    fn script(&self, session: &mut dyn Session, seat: Seat) -> Outcome<Box<dyn Script>> {
        let worker = seat.terminal + 1;
        // Sent again to each session that follows where those of the kit do.
        let batch = file(session)?.one("worker", session.dialect(), &[("worker", &worker)])?;
        session.batch(&batch)?;
        let begin = begins(session, self.given.no_auto_undo)?;
        scripted(session)?.begins_by(Some(&begin));
        let watch = Watch::prepare(session, Arc::clone(&self.start), self.given.warmup_ms)?;
        if let Some(KitSession { script, .. }) = &self.given.as_kit {
            let statements = first_transaction(&script.path, &script.text)?;
            return Ok(Box::new(AsKit::new(statements, self.kinds, watch)));
        }
        let conflicts = if self.given.separate_workers { self.given.update_conflict_percent } else { 0 };
        Ok(Box::new(Worker::prepare(session, conflicts, self.kinds, watch)?))
    }
}
