//! Syntax of GML: nested lists of keys and values.

use std::ops::Range;

use crate::error::{ImportError, ImportErrorKind, quoted};

/// List of keys and values, in the order of the file; a key may occur several times.
#[derive(Debug, Default)]
pub(crate) struct List<'a>(Vec<GmlEntry<'a>>);

/// Key with its value.
#[derive(Debug)]
pub(crate) struct GmlEntry<'a> {
    key: &'a str,
    pub value: GmlValue<'a>,
    /// Byte range of the key.
    pub range: Range<usize>,
}

/// Value of a key.
#[derive(Debug)]
pub(crate) enum GmlValue<'a> {
    /// Number or string; the text of a string without its quotes.
    Text(&'a str),
    List(List<'a>),
}

impl<'a> List<'a> {
    /// Returns the entries with the key `key`; capitals do not matter.
    pub fn all<'l>(&'l self, key: &'static str) -> impl Iterator<Item = &'l GmlEntry<'a>> {
        let is_named = move |entry: &&GmlEntry<'_>| entry.key.eq_ignore_ascii_case(key);
        self.0.iter().filter(is_named)
    }

    /// Returns the number or string of the first entry with the key `key`; `None` for a list.
    pub fn text(&self, key: &'static str) -> Option<&'a str> {
        self.all(key).find_map(|entry| match &entry.value {
            GmlValue::Text(text) => Some(*text),
            GmlValue::List(_) => None,
        })
    }
}

/// Parses the keys and values of a whole text.
///
/// # Errors
/// If the text is not GML, or is nested too deep.
pub(crate) fn parse(text: &str) -> Result<List<'_>, ImportError> {
    let mut open: Vec<(List<'_>, &str, Range<usize>)> = Vec::new();
    let mut list = List::default();
    let mut tokens = Tokens { text, next: 0 };
    loop {
        let (token, range) = tokens.next()?;
        let key = match token {
            Token::Word(key) if key.starts_with(|c: char| c.is_ascii_alphabetic()) => key,
            Token::Close if !open.is_empty() => {
                if let Some((outer, key, range)) = open.pop() {
                    let value = GmlValue::List(std::mem::replace(&mut list, outer));
                    list.0.push(GmlEntry { key, value, range });
                }
                continue;
            }
            Token::End if open.is_empty() => return Ok(list),
            Token::End => {
                let expected = "a key or `]`";
                return Err(syntax(token, range, expected));
            }
            _ => return Err(syntax(token, range, "a key")),
        };
        match tokens.next()? {
            (Token::Word(number), _) if !number.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let value = GmlValue::Text(number);
                list.0.push(GmlEntry { key, value, range });
            }
            (Token::String(string), _) => {
                let value = GmlValue::Text(string);
                list.0.push(GmlEntry { key, value, range });
            }
            (Token::Open, at) => {
                if open.len() >= MAX_DEPTH {
                    return Err(ImportErrorKind::TooDeep { max: MAX_DEPTH }.at(at));
                }
                open.push((std::mem::take(&mut list), key, range));
            }
            (token, at) => {
                let expected = "a number, a string in quotes, or `[`";
                return Err(syntax(token, at, expected));
            }
        }
    }
}

fn syntax(token: Token<'_>, range: Range<usize>, expected: &'static str) -> ImportError {
    let found = match token {
        Token::Word(word) => format!("`{}`", quoted(word)),
        Token::String(_) => "a string".to_owned(),
        Token::Open => "`[`".to_owned(),
        Token::Close => "`]`".to_owned(),
        Token::End => "the end of the file".to_owned(),
    };
    ImportErrorKind::Syntax { found, expected }.at(range)
}

/// Token of GML.
#[derive(Clone, Copy)]
enum Token<'a> {
    /// Key or number.
    Word(&'a str),
    /// String without its quotes.
    String(&'a str),
    Open,
    Close,
    End,
}

/// Tokens of a text.
struct Tokens<'a> {
    text: &'a str,
    /// Byte offset of the next token, or of blanks and comments before it.
    next: usize,
}

impl<'a> Tokens<'a> {
    /// Returns the next token and its byte range.
    fn next(&mut self) -> Result<(Token<'a>, Range<usize>), ImportError> {
        let rest = self.skip_blanks();
        let start = self.next;
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('[') => (Token::Open, 1),
            Some(']') => (Token::Close, 1),
            Some('"') => match rest[1..].find('"') {
                Some(length) => (Token::String(&rest[1..=length]), length + 2),
                None => {
                    let found = "a string without its closing quote".to_owned();
                    let expected = "`\"`";
                    let kind = ImportErrorKind::Syntax { found, expected };
                    return Err(kind.at(start..start + 1));
                }
            },
            Some(_) => {
                let is_end = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"' | '#');
                let length = rest.find(is_end).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
        };
        self.next += length;
        Ok((token, start..self.next))
    }

    /// Moves past blanks and comments, and returns the rest of the text.
    fn skip_blanks(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.next..];
            let blank = rest.len() - rest.trim_start().len();
            let comment = if rest[blank..].starts_with('#') {
                rest[blank..].find('\n').unwrap_or(rest.len() - blank)
            } else {
                0
            };
            if blank + comment == 0 {
                return rest;
            }
            self.next += blank + comment;
        }
    }
}

/// Maximum depth of lists; graphs need three levels.
const MAX_DEPTH: usize = 32;
