//! The rig's tests as one program: it is linked once.

mod common;

mod dialects;
mod job;
mod own;
mod postgres;
mod probe;
mod shapes;
mod tpcc;
