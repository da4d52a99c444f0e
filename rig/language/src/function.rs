//! The functions that expressions may call: those of pgbench's manual, and ours.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
    // Ours.
    Choose,
    Concat,
    Day,
    Digits,
    Moment,
    Nurand,
    Text,
}

/// The most arguments that any function takes.
pub const ARGUMENTS_MAX: usize = 100;

/// Name, function, least and most arguments.
pub const FUNCTIONS: [(&str, Function, usize, usize); 28] = [
    ("abs", Function::Abs, 1, 1),
    ("debug", Function::Debug, 1, 1),
    ("double", Function::Double, 1, 1),
    ("exp", Function::Exp, 1, 1),
    ("greatest", Function::Greatest, 1, ARGUMENTS_MAX),
    ("hash", Function::HashMurmur2, 1, 2),
    ("hash_fnv1a", Function::HashFnv1a, 1, 2),
    ("hash_murmur2", Function::HashMurmur2, 1, 2),
    ("int", Function::Int, 1, 1),
    ("least", Function::Least, 1, ARGUMENTS_MAX),
    ("ln", Function::Ln, 1, 1),
    ("mod", Function::Mod, 2, 2),
    ("permute", Function::Permute, 2, 3),
    ("pi", Function::Pi, 0, 0),
    ("pow", Function::Power, 2, 2),
    ("power", Function::Power, 2, 2),
    ("random", Function::Random, 2, 2),
    ("random_exponential", Function::RandomExponential, 3, 3),
    ("random_gaussian", Function::RandomGaussian, 3, 3),
    ("random_zipfian", Function::RandomZipfian, 3, 3),
    ("sqrt", Function::Sqrt, 1, 1),
    ("choose", Function::Choose, 1, ARGUMENTS_MAX),
    ("concat", Function::Concat, 1, ARGUMENTS_MAX),
    ("day", Function::Day, 2, 2),
    ("digits", Function::Digits, 1, 1),
    ("moment", Function::Moment, 2, 2),
    ("nurand", Function::Nurand, 3, 3),
    ("text", Function::Text, 1, 2),
];

pub fn find(name: &str, arguments: usize) -> Result<Function, String> {
    let Some((_, function, least, most)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
        let names: Vec<&str> = FUNCTIONS.iter().map(|(known, ..)| *known).collect();
        return Err(format!("{name} is no function; there are {} and rows", names.join(", ")));
    };
    let wanted = match (least, most) {
        _ if (*least..=*most).contains(&arguments) => return Ok(*function),
        (0, 0) => "no argument".to_string(),
        (1, 1) => "one argument".to_string(),
        (_, &ARGUMENTS_MAX) => format!("{least} to {ARGUMENTS_MAX} arguments"),
        _ if least == most => format!("{least} arguments"),
        _ => format!("{least} or {most} arguments"),
    };
    Err(format!("{name} takes {wanted}, here are {arguments}"))
}
