//! The filling of the database with documents: the kit's operations that add some, one after another.

use super::isql::scripted;
use super::kit::{asked, begins, file, Parameters};
use transaction::{wait, Outcome, Request, Session, Statement, Value};

pub struct Filling {
    choose: Statement,
    clear: Statement,
    work: Statement,
    filled: Statement,
    forget: Statement,
    services: Vec<Statement>,
    workers: [Value; 1],
}

impl Filling {
    pub fn prepare(session: &mut dyn Session, given: &Parameters) -> Outcome<Filling> {
        let begin = begins(session, given.no_auto_undo)?;
        scripted(session)?.begins_by(Some(&begin));
        let services = file(session)?.named("service", session.dialect(), &[])?;
        let services = services.iter().map(|sql| session.prepare(sql)).collect::<Outcome<_>>()?;
        let mut prepare = |name: &str| {
            let sql = asked(session, name)?;
            session.prepare(&sql)
        };
        Ok(Filling {
            choose: prepare("choose-to-fill")?,
            clear: prepare("clear")?,
            work: prepare("do-to-fill")?,
            filled: prepare("filled")?,
            forget: prepare("forget")?,
            services,
            workers: [Value::Int(given.expected_workers.into())],
        })
    }

    /// One operation. Answers how many documents there are now, and the message of the kit where it did not succeed.
    pub fn one(&mut self, session: &mut dyn Session) -> Outcome<(i64, String)> {
        let (mut documents, mut failed) = (0, String::new());
        let mut run = |request: Request, row: &mut dyn FnMut(&[Value])| wait(session, request, row).map(|_| ());
        run(Request::Begin, &mut |_| {})?;
        run(Request::Run(self.choose, &self.workers), &mut |_| {})?;
        run(Request::Run(self.clear, &[]), &mut |_| {})?;
        run(Request::Run(self.work, &[]), &mut |row| {
            failed = failure(row).map(|(_, message)| message).unwrap_or_default()
        })?;
        run(Request::Run(self.filled, &[]), &mut |row| documents = row[0].as_i64().unwrap_or(0))?;
        run(Request::Run(self.forget, &[]), &mut |_| {})?;
        run(Request::Commit, &mut |_| {})?;
        Ok((documents, failed))
    }

    /// The kit's service procedures, each in its own transaction.
    pub fn serve(&mut self, session: &mut dyn Session) -> Outcome<()> {
        for service in &self.services {
            wait(session, Request::Alone(*service, &[]), &mut |_| {})?;
        }
        Ok(())
    }
}

/// The code and the name of the error that an operation ended in; none of one that succeeded.
pub fn failure(row: &[Value]) -> Option<(i64, String)> {
    let code = row.first()?.as_i64()?;
    let name = row.get(1).cloned().and_then(Value::into_text);
    Some((code, name.unwrap_or_else(|| "an error that its table fb_errors does not have".to_string())))
}
