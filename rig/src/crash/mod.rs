//! Power cuts, as far as the rig takes part: the ledger of acknowledged commits.

mod acknowledgements;

pub use acknowledgements::Acknowledgements;
