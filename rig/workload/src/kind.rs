//! What a workload brings to be known by a job.

use protocol::{read_fields, write_fields, Fields};
use serde::de::DeserializeOwned;
use serde::Serialize;
use transaction::Workload;

/// The parameters of a workload: the fields of its message.
pub trait Kind: Serialize + DeserializeOwned {
    const NAME: &'static str;

    /// What in them cannot be followed, though their form is right.
    fn flaw(&self) -> Option<String>;

    /// Some, every field filled.
    fn samples() -> Vec<Self>;

    /// `seed` is the job's.
    fn workload(self, seed: u64) -> Box<dyn Workload>;
}

/// A workload, or what cannot be followed.
pub type Read = Result<Box<dyn Workload>, String>;

pub struct Known {
    pub name: &'static str,
    pub workload: fn(&Fields, u64) -> Read,
    pub again: fn(&Fields) -> Result<Fields, String>,
    pub samples: fn() -> Vec<Fields>,
}

pub const fn known<K: Kind>() -> Known {
    Known {
        name: K::NAME,
        workload: |fields, seed| Ok(read::<K>(fields)?.workload(seed)),
        again: |fields| Ok(write_fields(&read::<K>(fields)?)),
        samples: || K::samples().iter().map(write_fields).collect(),
    }
}

fn read<K: Kind>(fields: &Fields) -> Result<K, String> {
    let kind: K = read_fields(K::NAME, fields)?;
    match kind.flaw() {
        Some(flaw) => Err(flaw),
        None => Ok(kind),
    }
}
