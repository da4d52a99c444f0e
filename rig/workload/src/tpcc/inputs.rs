//! What a terminal asks for: inputs drawn as clauses 2.4.1 to 2.8.1 say.

use super::random::{last_name, other, Constants, Deck};
use super::scale::{Scale, CENTS, DELIVERY, DISTRICTS, KINDS, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use rand::RngExt as _;
use std::time::Duration;
use transaction::{Drawn, Mix, Rng, Seat};

/// No item has this number (clause 2.4.1.5).
pub fn unused_item(scale: Scale) -> i64 {
    scale.items() + 1
}

#[derive(Debug, Clone, PartialEq)]
pub enum Inputs {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus { district: i64, customer: Customer },
    Delivery { carrier: i64 },
    StockLevel { threshold: i64 },
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewOrder {
    pub district: i64,
    pub customer: i64,
    /// In the order of their items, so that any two orders lock stock in the same order. The unused item comes last.
    pub lines: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub item: i64,
    pub supply: i64,
    pub quantity: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Payment {
    pub district: i64,
    pub customer_warehouse: i64,
    pub customer_district: i64,
    pub customer: Customer,
    pub amount: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Customer {
    Number(i64),
    /// One of possibly several of that name.
    Name(String),
}

/// How a terminal chooses its next transaction's kind: from the benchmark's deck, or by the weights of its class.
enum Choice {
    Deck(Deck),
    Mix(Mix),
}

/// How the terminals of a run choose.
#[derive(Clone, Copy)]
pub struct Profile {
    pub warehouses: i64,
    pub scale: Scale,
    pub keying: bool,
    pub roaming: bool,
    pub constants: Constants,
}

/// A terminal's warehouse and district, and how it chooses.
pub struct TerminalState {
    pub warehouse: i64,
    /// For stock-level; other transactions draw theirs.
    pub district: i64,
    warehouses: i64,
    unused_item: i64,
    constants: Constants,
    keying: bool,
    roaming: bool,
    choice: Choice,
}

impl TerminalState {
    /// Terminals are dealt out over the warehouses, and a warehouse's over its districts (clause 2.8.1.1); more than ten
    /// at a warehouse share districts.
    pub fn new(seat: Seat, profile: Profile) -> TerminalState {
        let Profile { warehouses, scale, keying, roaming, constants } = profile;
        let terminal = seat.terminal as i64;
        TerminalState {
            warehouse: terminal % warehouses + 1,
            district: terminal / warehouses % DISTRICTS + 1,
            warehouses,
            unused_item: unused_item(scale),
            constants,
            keying,
            roaming,
            choice: Mix::of(seat.class, &KINDS).map_or(Choice::Deck(Deck::new([10, 10, 1, 1, 1])), Choice::Mix),
        }
    }

    pub fn draw(&mut self, rng: &mut Rng) -> (Drawn, Inputs) {
        let kind = match &mut self.choice {
            Choice::Deck(deck) => deck.draw(rng),
            Choice::Mix(mix) => mix.draw(rng),
        };
        if self.roaming {
            (self.warehouse, self.district) = (rng.random_range(1..=self.warehouses), district(rng));
        }
        let inputs = match kind {
            NEW_ORDER => Inputs::NewOrder(self.new_order(rng)),
            PAYMENT => Inputs::Payment(self.payment(rng)),
            ORDER_STATUS => Inputs::OrderStatus { district: district(rng), customer: self.customer(rng) },
            DELIVERY => Inputs::Delivery { carrier: rng.random_range(1..=10) },
            _ => Inputs::StockLevel { threshold: rng.random_range(10..=20) },
        };
        let mut drawn = Drawn { kind, ..Drawn::default() };
        if self.keying {
            (drawn.keying, drawn.think) = waits(kind, rng);
        }
        (drawn, inputs)
    }

    fn new_order(&self, rng: &mut Rng) -> NewOrder {
        let many = rng.random_range(5..=15);
        let wrong = rng.random_range(1..=100) == 1;
        let (district, customer) = (district(rng), self.constants.customer(rng));
        let mut lines: Vec<Line> = (1..=many)
            .map(|number| Line {
                item: if wrong && number == many { self.unused_item } else { self.constants.item(rng) },
                supply: match rng.random_range(1..=100) {
                    1 => other(rng, self.warehouse, self.warehouses),
                    _ => self.warehouse,
                },
                quantity: rng.random_range(1..=10),
            })
            .collect();
        lines.sort_unstable();
        NewOrder { district, customer, lines }
    }

    fn payment(&self, rng: &mut Rng) -> Payment {
        let paid_at = district(rng);
        let (customer_warehouse, customer_district) = match rng.random_range(1..=100) {
            ..=85 => (self.warehouse, paid_at),
            _ => (other(rng, self.warehouse, self.warehouses), district(rng)),
        };
        Payment {
            district: paid_at,
            customer_warehouse,
            customer_district,
            customer: self.customer(rng),
            amount: rng.random_range(CENTS..=5_000 * CENTS),
        }
    }

    /// By name in 60 of 100 cases, by number otherwise.
    fn customer(&self, rng: &mut Rng) -> Customer {
        match rng.random_range(1..=100) {
            ..=60 => Customer::Name(last_name(self.constants.name(rng))),
            _ => Customer::Number(self.constants.customer(rng)),
        }
    }
}

fn district(rng: &mut Rng) -> i64 {
    rng.random_range(1..=DISTRICTS)
}

/// Keying and think time (clauses 5.2.5.2 and 5.2.5.4), the latter drawn from a negative exponential distribution that
/// ends at ten times its mean.
fn waits(kind: usize, rng: &mut Rng) -> (Duration, Duration) {
    let (keying_s, think_s) = match kind {
        NEW_ORDER => (18, 12.0),
        PAYMENT => (3, 12.0),
        ORDER_STATUS => (2, 10.0),
        DELIVERY | STOCK_LEVEL => (2, 5.0),
        _ => unreachable!("five kinds"),
    };
    // Within 0..1; its complement has a logarithm.
    let uniform: f64 = rng.random();
    let factor = (-(1.0 - uniform).ln()).min(10.0);
    (Duration::from_secs(keying_s), Duration::from_secs_f64(think_s * factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn terminal_state(terminal: u64, warehouses: i64, keying: bool) -> TerminalState {
        let seat = Seat { run: 0, terminal, terminals: 100, worker: false, class: None };
        let constants = Constants::of_run(Scale::WHOLE, 9);
        TerminalState::new(seat, Profile { warehouses, scale: Scale::WHOLE, keying, roaming: false, constants })
    }

    fn drawn(warehouses: i64) -> Vec<Inputs> {
        let (mut rng, mut terminal_state) = (Rng::seed_from_u64(3), terminal_state(1, warehouses, false));
        (0..23 * 10_000).map(|_| terminal_state.draw(&mut rng).1).collect()
    }

    const UNUSED: i64 = 100_001;

    fn share(part: usize, whole: usize) -> f64 {
        part as f64 / whole as f64
    }

    #[test]
    fn new_orders_are_as_clause_5_5_1_5_wants_them() {
        let inputs = drawn(5);
        let orders: Vec<_> = inputs
            .iter()
            .filter_map(|inputs| if let Inputs::NewOrder(order) = inputs { Some(order) } else { None })
            .collect();
        assert_eq!(orders.len(), 100_000);
        let wrong = orders.iter().filter(|order| order.lines.iter().any(|line| line.item == UNUSED));
        assert!(wrong.clone().all(|order| order.lines.last().is_some_and(|line| line.item == UNUSED)));
        let wrong = share(wrong.count(), orders.len());
        assert!((0.009..=0.011).contains(&wrong), "{wrong}");
        let lines: Vec<_> = orders.iter().flat_map(|order| &order.lines).collect();
        let mean = share(lines.len(), orders.len());
        assert!((9.9..=10.1).contains(&mean), "{mean}");
        for many in 5..=15 {
            let share = share(orders.iter().filter(|order| order.lines.len() == many).count(), orders.len());
            assert!((share - 1.0 / 11.0).abs() < 0.005, "{many}: {share}");
        }
        let remote = share(lines.iter().filter(|line| line.supply != 2).count(), lines.len());
        assert!((0.0095..=0.0105).contains(&remote), "{remote}");
        assert!(lines.iter().all(|line| (1..=UNUSED).contains(&line.item)
            && (1..=5).contains(&line.supply)
            && (1..=10).contains(&line.quantity)));
        assert!(orders.iter().all(|order| order.lines.is_sorted() && (1..=10).contains(&order.district)));
        assert!(orders.iter().all(|order| (1..=3_000).contains(&order.customer)));
    }

    #[test]
    fn payments_and_order_states_are_as_clause_5_5_1_5_wants_them() {
        let inputs = drawn(5);
        let payments: Vec<_> = inputs
            .iter()
            .filter_map(|inputs| if let Inputs::Payment(payment) = inputs { Some(payment) } else { None })
            .collect();
        let remote = payments.iter().filter(|payment| payment.customer_warehouse != 2);
        let remote_share = share(remote.clone().count(), payments.len());
        assert!((0.14..=0.16).contains(&remote_share), "{remote_share}");
        assert!((1..=10).all(|district| remote.clone().any(|payment| payment.customer_district == district)));
        let home = payments.iter().filter(|payment| payment.customer_warehouse == 2);
        assert!(home.clone().all(|payment| payment.customer_district == payment.district));
        assert!(payments.iter().all(|payment| (100..=500_000).contains(&payment.amount)));
        let states = inputs.iter().filter_map(|inputs| {
            if let Inputs::OrderStatus { customer, .. } = inputs {
                Some(customer)
            } else {
                None
            }
        });
        let states: Vec<_> = states.collect();
        assert_eq!((payments.len(), states.len()), (100_000, 10_000));
        for customers in [payments.iter().map(|payment| &payment.customer).collect(), states] {
            let named = customers.iter().filter(|customer| matches!(customer, Customer::Name(_))).count();
            let named = share(named, customers.len());
            assert!((0.57..=0.63).contains(&named), "{named}");
        }
    }

    #[test]
    fn with_one_warehouse_everything_is_at_home() {
        let (mut rng, mut terminal_state) = (Rng::seed_from_u64(3), terminal_state(7, 1, false));
        for _ in 0..10_000 {
            match terminal_state.draw(&mut rng).1 {
                Inputs::NewOrder(order) => assert!(order.lines.iter().all(|line| line.supply == 1)),
                Inputs::Payment(payment) => assert_eq!(payment.customer_warehouse, 1),
                _ => {}
            }
        }
    }

    #[test]
    fn terminals_are_dealt_out_over_warehouses_and_districts() {
        let places: std::collections::BTreeSet<_> = (0..40)
            .map(|terminal| terminal_state(terminal, 4, false))
            .map(|terminal_state| (terminal_state.warehouse, terminal_state.district))
            .collect();
        assert_eq!(places.len(), 40);
        assert!(places.iter().all(|(warehouse, district)| (1..=4).contains(warehouse) && (1..=10).contains(district)));
    }

    #[test]
    fn terminals_that_roam_come_to_all_warehouses_alike() {
        let (mut rng, seat) =
            (Rng::seed_from_u64(3), Seat { run: 0, terminal: 1, terminals: 2, worker: false, class: None });
        let scale = Scale { percent: 10 };
        let constants = Constants::of_run(scale, 9);
        let profile = Profile { warehouses: 40, scale, keying: false, roaming: true, constants };
        let mut terminal_state = TerminalState::new(seat, profile);
        let mut seen = [[0u32; 10]; 40];
        for _ in 0..40_000 {
            let (_, inputs) = terminal_state.draw(&mut rng);
            seen[terminal_state.warehouse as usize - 1][terminal_state.district as usize - 1] += 1;
            if let Inputs::NewOrder(order) = inputs {
                assert!(order.lines.iter().all(|line| (1..=10_001).contains(&line.item)));
                assert!((1..=300).contains(&order.customer));
            }
        }
        assert!(seen.iter().all(|districts| districts.iter().all(|many| (50..160).contains(many))), "{seen:?}");
        assert!(seen.iter().all(|districts| (850..1_150).contains(&districts.iter().sum::<u32>())), "{seen:?}");
    }

    #[test]
    fn keying_and_think_times_are_those_of_the_table() {
        let (mut rng, mut without, mut with) =
            (Rng::seed_from_u64(3), terminal_state(0, 1, false), terminal_state(0, 1, true));
        let none = without.draw(&mut rng).0;
        assert!(none.keying.is_zero() && none.think.is_zero());
        let mut thought = [(0u32, 0.0, 0.0f64); 5];
        for _ in 0..23 * 2_000 {
            let drawn = with.draw(&mut rng).0;
            assert_eq!(drawn.keying.as_secs(), [18, 3, 2, 2, 2][drawn.kind]);
            let (many, sum, longest) = &mut thought[drawn.kind];
            *many += 1;
            *sum += drawn.think.as_secs_f64();
            *longest = longest.max(drawn.think.as_secs_f64());
        }
        for ((many, sum, longest), mean) in thought.into_iter().zip([12.0, 12.0, 10.0, 5.0, 5.0]) {
            let average = sum / f64::from(many);
            assert!((average / mean - 1.0).abs() < 0.1, "{average}, {mean}");
            assert!(longest > 4.0 * mean && longest <= 10.0 * mean);
        }
    }
}
