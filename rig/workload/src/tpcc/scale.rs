//! The rows of a warehouse, and the kinds of transactions.

use transaction::KindSpec;

pub const DISTRICTS: i64 = 10;
/// Of an amount's unit.
pub const CENTS: i64 = 100;

/// The rows of a warehouse: TPC-C's (clause 1.2.1), or so many percent of them. A warehouse has its ten districts always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    pub percent: i64,
}

impl Scale {
    #[cfg(test)]
    pub const WHOLE: Scale = Scale { percent: 100 };

    /// Of the database, and stock rows of a warehouse.
    pub fn items(self) -> i64 {
        1_000 * self.percent
    }

    /// Of a district.
    pub fn customers(self) -> i64 {
        30 * self.percent
    }

    /// Last names that customers have.
    pub fn names(self) -> i64 {
        10 * self.percent
    }

    /// Of a district after the load.
    pub fn orders(self) -> i64 {
        30 * self.percent
    }

    /// The first order of a district that the load leaves to be delivered.
    pub fn first_open(self) -> i64 {
        21 * self.percent + 1
    }
}

// Places in KINDS.
pub const NEW_ORDER: usize = 0;
pub const PAYMENT: usize = 1;
pub const ORDER_STATUS: usize = 2;
pub const DELIVERY: usize = 3;
pub const STOCK_LEVEL: usize = 4;

/// With the limits of clause 5.2.5.7; that of deliveries counts from their being queued (clause 2.7.2.2).
pub const KINDS: [KindSpec; 5] = [
    KindSpec { name: "new_order", limit_ms: Some(5_000.0) },
    KindSpec { name: "payment", limit_ms: Some(5_000.0) },
    KindSpec { name: "order_status", limit_ms: Some(5_000.0) },
    KindSpec { name: "delivery", limit_ms: Some(80_000.0) },
    KindSpec { name: "stock_level", limit_ms: Some(20_000.0) },
];
