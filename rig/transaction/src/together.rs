//! Statements none of which depends on another's answer. A session that pipelines sends them as one; on any other each
//! waits for its answer, in the same order.

use crate::{Client, Outcome, Refused, Statement, Value};

/// Must be ended by [`Together::end`] or [`Together::commit`]: rows come by then, and not before.
#[must_use = "what was joined is sent by its end"]
pub struct Together<'a, R> {
    client: &'a mut Client,
    /// Takes each row, with the number of its query.
    row: R,
    joined: bool,
}

impl<'a, R: FnMut(usize, &[Value])> Together<'a, R> {
    pub(crate) fn new(client: &'a mut Client, row: R) -> Self {
        Together { client, row, joined: false }
    }

    /// As [`Client::change_one`].
    pub async fn change_one(&mut self, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        self.client.change_one(statement, parameters).await
    }

    /// As [`Client::query`].
    pub async fn query(&mut self, number: usize, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        if self.client.join(statement, parameters, number, false)? {
            self.joined = true;
            return Ok(());
        }
        let Together { client, row, .. } = self;
        client.query(statement, parameters, |values| row(number, values)).await
    }

    /// As [`Client::query_one`].
    pub async fn query_one(&mut self, number: usize, statement: Statement, parameters: &[Value]) -> Outcome<()> {
        if self.client.join(statement, parameters, number, true)? {
            self.joined = true;
            return Ok(());
        }
        let Together { client, row, .. } = self;
        client.query_one(statement, parameters, |values| row(number, values)).await
    }

    /// Waits for the answers. What changes rows and waits for nothing may yet travel with what follows.
    pub async fn end(self) -> Outcome<()> {
        let Together { client, mut row, joined } = self;
        match joined {
            true => client.awaited(|session| session.gather(false, &mut row)).await,
            false => Ok(()),
        }
    }

    /// Commits, and waits for the answers.
    pub async fn commit(self) -> Result<(), Refused> {
        let Together { client, mut row, joined } = self;
        let committed = match joined {
            true => {
                client.note_commit();
                client.awaited(|session| session.gather(true, &mut row)).await
            }
            false => client.commit().await,
        };
        committed.map_err(|error| Refused { error, at_commit: true })
    }
}
