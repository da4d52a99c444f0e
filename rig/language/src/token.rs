//! The tokens of an expression.

use crate::Flaw;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Int(i64),
    /// The one whole number that only its negative is in range of: 9223372036854775808.
    Beyond,
    Real(f64),
    Text(String),
    Variable(String),
    /// Lower-case; keywords and functions.
    Word(String),
    Symbol(&'static str),
}

// The longer first.
const SYMBOLS: [&str; 20] =
    ["<=", ">=", "<>", "!=", "<<", ">>", "+", "-", "*", "/", "%", "(", ")", ",", "=", "<", ">", "|", "&", "#"];

/// Which characters a name has; those that are not ASCII are letters.
pub fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

pub fn tokens(text: &str, line: usize) -> Result<Vec<(Token, usize)>, Flaw> {
    let (mut found, mut rest, mut line) = (Vec::new(), text, line);
    while let Some(first) = rest.chars().next() {
        if first == '\n' {
            line += 1;
        }
        if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (token, length) = token(rest, first).map_err(|message| Flaw::at(line, message))?;
        found.push((token, line));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    Ok(found)
}

fn token(text: &str, first: char) -> Result<(Token, usize), String> {
    let until = |text: &str, is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
    if first == ':' {
        let length = until(&text[1..], is_name);
        return match length {
            0 => Err("a name must stand behind the colon".to_string()),
            _ => Ok((Token::Variable(text[1..=length].to_string()), length + 1)),
        };
    }
    if first == '\'' {
        return quoted(text);
    }
    let is_number = first.is_ascii_digit() || (first == '.' && text[1..].starts_with(|c: char| c.is_ascii_digit()));
    if is_number {
        return number(text);
    }
    if is_name(first) {
        let length = until(text, is_name);
        return Ok((Token::Word(text[..length].to_ascii_lowercase()), length));
    }
    if first == '~' {
        return Ok((Token::Symbol("~"), 1));
    }
    match SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        Some(symbol) => Ok((Token::Symbol(symbol), symbol.len())),
        None => Err(format!("{first} has no meaning in an expression")),
    }
}

fn quoted(text: &str) -> Result<(Token, usize), String> {
    let (mut content, mut rest) = (String::new(), &text[1..]);
    loop {
        let Some(end) = rest.find('\'') else { return Err("a text has no closing quote".to_string()) };
        content.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(after) => {
                content.push('\'');
                rest = after;
            }
            None => return Ok((Token::Text(content), text.len() - rest.len())),
        }
    }
}

fn number(text: &str) -> Result<(Token, usize), String> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut length = digits(text);
    let mut is_real = false;
    if text[length..].starts_with('.') {
        is_real = true;
        length += 1 + digits(&text[length + 1..]);
    }
    if let Some(power) = text[length..].strip_prefix(['e', 'E']) {
        let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
        if digits(unsigned) > 0 {
            is_real = true;
            length += 1 + (power.len() - unsigned.len()) + digits(unsigned);
        }
    }
    let written = &text[..length];
    let token = match is_real {
        true => written.parse().map(Token::Real).map_err(|_| format!("{written} is no number"))?,
        false if written == "9223372036854775808" => Token::Beyond,
        false => {
            written.parse().map(Token::Int).map_err(|_| format!("{written} is out of the range of whole numbers"))?
        }
    };
    Ok((token, length))
}
