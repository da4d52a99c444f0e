//! Expressions, and how they are read. Operators bind as pgbench's do.

use crate::function::{self, Function, ARGUMENTS_MAX};
use crate::token::{tokens, Token};
use crate::{Datum, Flaw, Names};

/// Deeper nesting is refused: it would be followed on the stack.
const DEPTH_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Constant(Datum),
    Variable(usize),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
    Case(Vec<(Expression, Expression)>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    Negative,
    Not,
    BitNot,
    IsNull,
    IsNotNull,
    IsTrue,
    IsNotTrue,
    IsFalse,
    IsNotFalse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// How an infix symbol binds, and what it is.
const INFIX: [(&str, u8, Binary); 17] = [
    ("=", COMPARISON, Binary::Equal),
    ("<>", COMPARISON, Binary::Unequal),
    ("!=", COMPARISON, Binary::Unequal),
    ("<", COMPARISON, Binary::Less),
    ("<=", COMPARISON, Binary::LessEqual),
    (">", COMPARISON, Binary::Greater),
    (">=", COMPARISON, Binary::GreaterEqual),
    ("|", BITS, Binary::BitOr),
    ("#", BITS, Binary::BitXor),
    ("&", BITS, Binary::BitAnd),
    ("<<", BITS, Binary::ShiftLeft),
    (">>", BITS, Binary::ShiftRight),
    ("+", SUM, Binary::Add),
    ("-", SUM, Binary::Subtract),
    ("*", PRODUCT, Binary::Multiply),
    ("/", PRODUCT, Binary::Divide),
    ("%", PRODUCT, Binary::Modulo),
];
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

pub fn expression(text: &str, line: usize, names: &mut Names) -> Result<Expression, Flaw> {
    let tokens = tokens(text, line)?;
    let mut parser = Parser { tokens: &tokens, at: 0, line, depth: 0, names };
    let expression = parser.any(0)?;
    match parser.peek() {
        None => Ok(expression),
        Some(token) => {
            let shown = shown(token);
            Err(parser.flaw(format!("{shown} is not expected here")))
        }
    }
}

/// What stands behind a value.
enum Infix {
    Test(Unary),
    Or,
    And,
    Binary(Binary, u8),
}

struct Parser<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    line: usize,
    depth: usize,
    names: &'a mut Names,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<Token> {
        let (token, line) = self.tokens.get(self.at)?;
        (self.at, self.line) = (self.at + 1, *line);
        Some(token.clone())
    }

    fn flaw(&self, message: impl Into<String>) -> Flaw {
        Flaw::at(self.tokens.get(self.at).map_or(self.line, |(_, line)| *line), message)
    }

    fn takes(&mut self, token: &Token) -> bool {
        let is = self.peek() == Some(token);
        self.at += usize::from(is);
        is
    }

    fn word(&mut self, word: &str) -> bool {
        let is = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), Flaw> {
        match self.takes(&Token::Symbol(symbol)) {
            true => Ok(()),
            false => Err(match self.peek() {
                Some(token) => self.flaw(format!("{symbol} is expected before {}", shown(token))),
                None => self.flaw(format!("{symbol} is missing at the end")),
            }),
        }
    }

    /// An expression whose operators bind more strongly than `over`.
    fn any(&mut self, over: u8) -> Result<Expression, Flaw> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.flaw("the expression is nested too deeply"));
        }
        let mut left = self.prefix()?;
        while let Some(infix) = self.infix(over)? {
            left = match infix {
                Infix::Test(test) => Expression::Unary(test, Box::new(left)),
                Infix::Or => Expression::Or(Box::new(left), Box::new(self.any(OR)?)),
                Infix::And => Expression::And(Box::new(left), Box::new(self.any(AND)?)),
                Infix::Binary(binary, binds) => Expression::Binary(binary, Box::new(left), Box::new(self.any(binds)?)),
            };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Result<Expression, Flaw> {
        if self.takes(&Token::Symbol("-")) {
            if self.takes(&Token::Beyond) {
                return Ok(Expression::Constant(Datum::Int(i64::MIN)));
            }
            return self.unary(Unary::Negative, SIGN - 1);
        }
        if self.takes(&Token::Symbol("+")) {
            return self.any(SIGN - 1);
        }
        if self.takes(&Token::Symbol("~")) {
            return self.unary(Unary::BitNot, BITS);
        }
        if self.word("not") {
            return self.unary(Unary::Not, NOT - 1);
        }
        self.primary()
    }

    fn unary(&mut self, which: Unary, over: u8) -> Result<Expression, Flaw> {
        Ok(Expression::Unary(which, Box::new(self.any(over)?)))
    }

    /// The operator that follows, where it binds more strongly than `over`.
    fn infix(&mut self, over: u8) -> Result<Option<Infix>, Flaw> {
        let (binds, infix) = match self.peek() {
            Some(Token::Symbol(symbol)) => match INFIX.iter().find(|(known, ..)| known == symbol) {
                Some((_, binds, binary)) => (*binds, Infix::Binary(*binary, *binds)),
                None => return Ok(None),
            },
            Some(Token::Word(word)) => match word.as_str() {
                "or" => (OR, Infix::Or),
                "and" => (AND, Infix::And),
                "isnull" | "is" => (IS, Infix::Test(Unary::IsNull)),
                "notnull" => (IS, Infix::Test(Unary::IsNotNull)),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        if binds <= over {
            return Ok(None);
        }
        match self.word("is") {
            true => self.is().map(|test| Some(Infix::Test(test))),
            false => {
                self.at += 1;
                Ok(Some(infix))
            }
        }
    }

    fn is(&mut self) -> Result<Unary, Flaw> {
        let not = self.word("not");
        for (word, is, is_not) in [
            ("null", Unary::IsNull, Unary::IsNotNull),
            ("true", Unary::IsTrue, Unary::IsNotTrue),
            ("false", Unary::IsFalse, Unary::IsNotFalse),
        ] {
            if self.word(word) {
                return Ok(if not { is_not } else { is });
            }
        }
        Err(self.flaw("null, true or false is expected behind is"))
    }

    fn primary(&mut self) -> Result<Expression, Flaw> {
        match self.next() {
            Some(Token::Int(n)) => Ok(Expression::Constant(Datum::Int(n))),
            Some(Token::Beyond) => Err(Flaw::at(self.line, "9223372036854775808 is out of the range of whole numbers")),
            Some(Token::Real(x)) => Ok(Expression::Constant(Datum::Real(x))),
            Some(Token::Text(text)) => Ok(Expression::Constant(Datum::Text(text))),
            Some(Token::Variable(name)) => {
                self.names.used(&name).map(Expression::Variable).map_err(|message| Flaw::at(self.line, message))
            }
            Some(Token::Symbol("(")) => {
                let inner = self.any(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Word(word)) => self.worded(&word),
            Some(Token::Symbol(symbol)) => Err(Flaw::at(self.line, format!("a value is expected before {symbol}"))),
            None => Err(self.flaw("a value is missing at the end")),
        }
    }

    fn worded(&mut self, word: &str) -> Result<Expression, Flaw> {
        match word {
            "null" => Ok(Expression::Constant(Datum::Null)),
            "true" => Ok(Expression::Constant(Datum::Bool(true))),
            "false" => Ok(Expression::Constant(Datum::Bool(false))),
            "case" => self.case(),
            "rows" => self.rows(),
            _ if self.takes(&Token::Symbol("(")) => self.call(word),
            _ => Err(Flaw::at(self.line, format!("{word} has no meaning here; a variable is written :{word}"))),
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, Flaw> {
        let (line, mut arguments) = (self.line, Vec::new());
        if !self.takes(&Token::Symbol(")")) {
            loop {
                arguments.push(self.any(0)?);
                if arguments.len() > ARGUMENTS_MAX {
                    return Err(self.flaw(format!("a function takes at most {ARGUMENTS_MAX} arguments")));
                }
                if !self.takes(&Token::Symbol(",")) {
                    break;
                }
            }
            self.expect(")")?;
        }
        let function = function::find(name, arguments.len()).map_err(|message| Flaw::at(line, message))?;
        Ok(Expression::Call(function, arguments))
    }

    /// `rows(TABLE)`: how many rows were loaded.
    fn rows(&mut self) -> Result<Expression, Flaw> {
        self.expect("(")?;
        let Some(Token::Word(table) | Token::Text(table)) = self.next() else {
            return Err(self.flaw("rows takes the name of a table"));
        };
        self.expect(")")?;
        match self.names.rows(&table) {
            Some(rows) => Ok(Expression::Constant(Datum::Int(rows))),
            None => Err(Flaw::at(self.line, format!("no load says how many rows {table} has (before this)"))),
        }
    }

    fn case(&mut self) -> Result<Expression, Flaw> {
        let mut whens = Vec::new();
        while self.word("when") {
            let when = self.any(0)?;
            if !self.word("then") {
                return Err(self.flaw("then is expected here"));
            }
            whens.push((when, self.any(0)?));
        }
        if whens.is_empty() {
            return Err(self.flaw("when is expected behind case"));
        }
        let otherwise = if self.word("else") { self.any(0)? } else { Expression::Constant(Datum::Null) };
        match self.word("end") {
            true => Ok(Expression::Case(whens, Box::new(otherwise))),
            false => Err(self.flaw("end is expected: a case is not closed")),
        }
    }
}

fn shown(token: &Token) -> String {
    match token {
        Token::Int(n) => n.to_string(),
        Token::Beyond => "9223372036854775808".to_string(),
        Token::Real(x) => x.to_string(),
        Token::Text(text) => format!("'{text}'"),
        Token::Variable(name) => format!(":{name}"),
        Token::Word(word) => word.clone(),
        Token::Symbol(symbol) => symbol.to_string(),
    }
}
