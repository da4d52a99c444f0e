//! A session as the kit's own are: isql running the script that the kit makes for an operation. Every statement of it is run,
//! those that only print as well, and each is prepared for that once.

use super::worker::{class, halted, unknown, Watch, BY_THE_KIT};
use transaction::{failed, Attempt, Class, Client, Drawn, Ended, KindSpec, Refused, Rng, Script, Value};

/// The columns that the script prints an operation's name and the code of its failure in.
const UNIT: &str = "unit";
const CODE: &str = "last_operation_gds_code";
/// What the script has in place of an operation once the kit has halted its test.
const CANCELLED: &str = "TEST_WAS_CANCELLED";

pub struct AsKit {
    statements: Vec<String>,
    kinds: &'static [KindSpec],
    kind: Option<usize>,
    watch: Watch,
}

/// What the script has printed of an operation.
#[derive(Default)]
struct Printed {
    unit: Option<String>,
    code: Option<i64>,
}

impl Printed {
    fn hear(&mut self, names: &[String], row: &[Value]) {
        for (name, value) in names.iter().zip(row) {
            match name.as_str() {
                UNIT if self.unit.is_none() => self.unit = value.clone().into_text(),
                CODE => self.code = value.clone().into_text().and_then(|text| text.trim().parse().ok()),
                _ => {}
            }
        }
    }
}

impl AsKit {
    pub fn new(statements: Vec<String>, kinds: &'static [KindSpec], watch: Watch) -> AsKit {
        AsKit { statements, kinds, kind: None, watch }
    }

    async fn once(&mut self, client: &mut Client) -> Result<Ended, Refused> {
        self.kind = None;
        self.watch.keep(client).await?;
        client.begin().await?;
        let (mut printed, mut error) = (Printed::default(), None);
        for sql in &self.statements {
            match client.once(sql, &mut |names, row| printed.hear(names, row)) {
                // isql goes on, but with a server.
                Err(broken) if broken.class == Class::Connection => return Err(broken.into()),
                Err(first) => error = error.or(Some(first)),
                Ok(()) => {}
            }
        }
        let unit = printed.unit.unwrap_or_default();
        if unit == CANCELLED {
            return Err(halted().into());
        }
        self.kind = self.kinds.iter().position(|kind| kind.name == unit);
        let ended = crate::common::commit(client).await?;
        match (printed.code, error) {
            (Some(BY_THE_KIT), _) => Ok(Ended::RolledBack),
            (Some(code), text) => {
                let text = text.map(|error| error.message).unwrap_or_default();
                let first = text.split(" -").next().unwrap_or_default();
                Err(failed(class(code), format!("{unit}: {first} ({code})")).into())
            }
            (None, Some(error)) => Err(error.into()),
            (None, None) if self.kind.is_none() => Err(unknown(&unit).into()),
            (None, None) => Ok(ended),
        }
    }
}

impl Script for AsKit {
    /// The database draws what it is.
    fn draw(&mut self, _: &mut Rng) -> Option<Drawn> {
        Some(Drawn::default())
    }

    fn attempt<'a>(&'a mut self, client: &'a mut Client) -> Attempt<'a> {
        Box::pin(self.once(client))
    }

    fn kind(&self) -> Option<usize> {
        self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_script_prints_tells_the_operation_and_how_it_failed() {
        let names = |all: &[&str]| all.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let text = |text: &str| Value::Text(text.into());
        let mut printed = Printed::default();
        printed.hear(&names(&["dts", "unit", "msg"]), &[text("x"), text("sp_client_order"), text("start")]);
        printed.hear(&names(&["worker", CODE]), &[text("1"), Value::Null]);
        assert_eq!((printed.unit.as_deref(), printed.code), (Some("sp_client_order"), None));
        printed.hear(&names(&[CODE]), &[text("335544517 ")]);
        printed.hear(&names(&["unit"]), &[text("another")]);
        assert_eq!((printed.unit.as_deref(), printed.code), (Some("sp_client_order"), Some(BY_THE_KIT)));
    }
}
