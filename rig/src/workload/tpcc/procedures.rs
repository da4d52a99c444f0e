//! placeholder
use super::inputs::{Desk, Inputs};
use super::queue::Delivery;
use crate::session::{Dialect, Outcome, Session};
use crate::terminal::Client;
use crate::workload::{Ended, Refused};
pub struct Calls {}
impl Calls {
    pub fn prepare(_: &mut dyn Session) -> Outcome<Calls> {
        Ok(Calls {})
    }
    pub async fn attempt(&self, _: &mut Client, _: &Desk, _: &Inputs) -> Result<Ended, Refused> {
        Ok(Ended::Queued)
    }
    pub async fn delivery(&self, _: &mut Client, _: Delivery) -> Result<(Ended, i64), Refused> {
        Ok((Ended::Queued, 0))
    }
}
pub fn create(_: Dialect) -> Outcome<Vec<String>> {
    Ok(Vec::new())
}
