//! Assertions on a run: `lcmp.p99 <= 0.6 * ecmp.p99`, `unfinished == 0`, `path(dc1,dc8) uses dc4`.
//!
//! ```text
//! expectation = comparison | use
//! comparison  = sum ("<=" | "<" | ">=" | ">" | "==") sum
//! sum         = product (("+" | "-") product)*
//! product     = factor (("*" | "/") factor)*
//! factor      = number ["%"] | metric | "(" sum ")" | "-" factor
//! metric      = [policy "."] ("p50" | "p95" | "p99" | "mean" | "max"
//!               | "flows" | "finished" | "unfinished" | "below_one")
//! use         = [policy "."] "path(" dc "," dc ")" "uses" dc [">=" number "%"]
//! ```
//!
//! A `-` between letters is part of a name, as in `te-100ms.p99`; a subtraction needs spaces around the `-`.

use std::fmt;

use serde::{Serialize, Serializer};
use winnow::{
    ModalResult, Parser,
    ascii::{float, space0},
    combinator::{alt, cut_err, delimited, fail, opt, preceded, terminated},
    error::{StrContext, StrContextValue},
    token::take_while,
};

/// Assertion about a run's results.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Text of the assertion as written.
    pub text: String,
    /// Parsed form of the assertion.
    pub claim: Claim,
}

/// Claim that an assertion makes about a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
    /// Comparison of two values.
    Compare {
        left: Expr,
        relation: Relation,
        right: Expr,
    },
    /// Claim that flows take a path through a datacenter.
    Uses {
        /// Label of the policy; `None` if the claim is about every policy.
        policy: Option<String>,
        /// Datacenter of the flows' senders.
        from: String,
        /// Datacenter of the flows' receivers.
        to: String,
        /// Datacenter through which the flows' data must pass.
        via: String,
        /// Minimum share of the flows that take the path; 1 if the assertion does not give a share.
        share: f64,
    },
}

/// Relation between the two sides of a comparison.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relation {
    AtMost,
    Less,
    AtLeast,
    More,
    Equal,
}

/// Arithmetic expression on one side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Number; a percentage is stored divided by 100.
    Number(f64),
    /// Result of the run, such as `lcmp.p99`.
    Metric {
        /// Label of the policy; `None` for all policies together.
        policy: Option<String>,
        metric: Metric,
    },
    /// Negated expression.
    Minus(Box<Expr>),
    /// Two expressions with an operator between them.
    Pair(Box<Expr>, Operator, Box<Expr>),
}

/// Arithmetic operator between two expressions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Result of a run to which an assertion can refer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Metric {
    /// Percentile of FCT slowdowns: the 50th, 95th or 99th.
    Percentile(u32),
    /// Mean of FCT slowdowns.
    Mean,
    /// Largest FCT slowdown.
    Max,
    /// Number of flows in the records.
    Flows,
    /// Number of finished flows.
    Finished,
    /// Number of unfinished flows.
    Unfinished,
    /// Number of flows that were impossibly fast for the paths that they took.
    BelowOne,
}

/// Error for a text that is not an assertion.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{found}` is not an assertion: expected {expected} (hint: write it like `lcmp.p99 <= 0.6 * ecmp.p99`)"
)]
pub struct ParseExpectationError {
    found: String,
    expected: String,
    /// Byte offset of the error in the text.
    pub offset: usize,
}

impl std::str::FromStr for Expectation {
    type Err = ParseExpectationError;

    fn from_str(text: &str) -> Result<Self, ParseExpectationError> {
        let claim = delimited(space0, claim, space0)
            .parse(text)
            .map_err(|error| {
                let expected: Vec<String> = error
                    .inner()
                    .context()
                    .filter_map(|context| match context {
                        StrContext::Expected(value) => Some(value.to_string()),
                        _ => None,
                    })
                    .collect();
                ParseExpectationError {
                    found: text.chars().take(MAX_SHOWN).collect(),
                    expected: match expected.as_slice() {
                        [] => "an operator or the end of the assertion".to_owned(),
                        expected => expected.join(" or "),
                    },
                    offset: error.offset(),
                }
            })?;
        Ok(Self {
            text: text.trim().to_owned(),
            claim,
        })
    }
}

impl Expectation {
    /// Returns the labels of the policies that the assertion names.
    #[must_use]
    pub fn policies(&self) -> Vec<&str> {
        match &self.claim {
            Claim::Uses { policy, .. } => policy.iter().map(String::as_str).collect(),
            Claim::Compare { left, right, .. } => {
                let mut policies = Vec::new();
                left.policies(&mut policies);
                right.policies(&mut policies);
                policies
            }
        }
    }

    /// Returns the names of the datacenters that the assertion names.
    #[must_use]
    pub fn dcs(&self) -> Vec<&str> {
        match &self.claim {
            Claim::Uses { from, to, via, .. } => vec![from, to, via],
            Claim::Compare { .. } => Vec::new(),
        }
    }
}

impl Expr {
    fn policies<'a>(&'a self, policies: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Metric { policy, .. } => policies.extend(policy.as_deref()),
            Self::Minus(value) => value.policies(policies),
            Self::Pair(left, _, right) => {
                left.policies(policies);
                right.policies(policies);
            }
        }
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn claim(input: &mut &str) -> ModalResult<Claim> {
    alt((uses, compare)).parse_next(input)
}

fn uses(input: &mut &str) -> ModalResult<Claim> {
    let policy = opt(terminated(name, ".")).parse_next(input)?;
    ("path", space0, "(").parse_next(input)?;
    let from = cut_err(padded(name))
        .context(expected("a datacenter"))
        .parse_next(input)?;
    cut_err(",").context(expected("`,`")).parse_next(input)?;
    let to = cut_err(padded(name))
        .context(expected("a datacenter"))
        .parse_next(input)?;
    cut_err(")").context(expected("`)`")).parse_next(input)?;
    cut_err(padded("uses"))
        .context(expected("`uses`"))
        .parse_next(input)?;
    let via = cut_err(name)
        .context(expected("a datacenter"))
        .parse_next(input)?;
    let share = opt(preceded(padded(">="), cut_err(percentage))).parse_next(input)?;
    Ok(Claim::Uses {
        policy: policy.map(str::to_owned),
        from: from.to_owned(),
        to: to.to_owned(),
        via: via.to_owned(),
        share: share.unwrap_or(1.0),
    })
}

fn compare(input: &mut &str) -> ModalResult<Claim> {
    let left = sum.parse_next(input)?;
    let relation = cut_err(padded(relation))
        .context(expected("`<=`, `<`, `>=`, `>` or `==`"))
        .parse_next(input)?;
    let right = cut_err(sum).parse_next(input)?;
    Ok(Claim::Compare {
        left,
        relation,
        right,
    })
}

fn relation(input: &mut &str) -> ModalResult<Relation> {
    alt((
        "<=".value(Relation::AtMost),
        ">=".value(Relation::AtLeast),
        "==".value(Relation::Equal),
        "<".value(Relation::Less),
        ">".value(Relation::More),
    ))
    .parse_next(input)
}

fn sum(input: &mut &str) -> ModalResult<Expr> {
    let operator = alt(("+".value(Operator::Add), "-".value(Operator::Subtract)));
    chain(product, operator).parse_next(input)
}

fn product(input: &mut &str) -> ModalResult<Expr> {
    let operator = alt(("*".value(Operator::Multiply), "/".value(Operator::Divide)));
    chain(factor, operator).parse_next(input)
}

/// Returns a parser for a chain of operands, which `of` parses, joined by `operator` and evaluated from left to right.
fn chain<'i>(
    mut of: impl FnMut(&mut &'i str) -> ModalResult<Expr>,
    operator: impl Parser<&'i str, Operator, winnow::error::ErrMode<winnow::error::ContextError>>,
) -> impl FnMut(&mut &'i str) -> ModalResult<Expr> {
    let mut operator = padded(operator);
    move |input| {
        let mut value = of(input)?;
        while let Some(operator) = opt(operator.by_ref()).parse_next(input)? {
            let right = cut_err(&mut of).parse_next(input)?;
            value = Expr::Pair(Box::new(value), operator, Box::new(right));
        }
        Ok(value)
    }
}

fn factor(input: &mut &str) -> ModalResult<Expr> {
    padded(alt((
        delimited("(", cut_err(sum), cut_err(")").context(expected("`)`"))),
        preceded("-", factor).map(|value| Expr::Minus(Box::new(value))),
        metric,
        number,
        fail.context(expected("a number, or a result such as `lcmp.p99`")),
    )))
    .parse_next(input)
}

fn number(input: &mut &str) -> ModalResult<Expr> {
    // The library's parser for floats would also accept `inf` and `nan`.
    winnow::combinator::peek(take_while(1, |c: char| c.is_ascii_digit() || c == '.'))
        .parse_next(input)?;
    let (number, percent): (f64, Option<&str>) = (float, opt(padded("%"))).parse_next(input)?;
    Ok(Expr::Number(match percent {
        Some(_) => number / 100.0,
        None => number,
    }))
}

fn percentage(input: &mut &str) -> ModalResult<f64> {
    let percentage =
        terminated(float::<_, f64, _>, padded("%")).verify(|it| (0.0..=100.0).contains(it));
    percentage
        .context(expected("a percentage such as `90%`"))
        .map(|percent| percent / 100.0)
        .parse_next(input)
}

fn metric(input: &mut &str) -> ModalResult<Expr> {
    let (first, second) = (name, opt(preceded(".", cut_err(word)))).parse_next(input)?;
    let (policy, word) = match second {
        Some(word) => (Some(first), word),
        None => (None, first),
    };
    let found = METRICS.iter().find(|(known, _)| *known == word);
    match found {
        Some((_, metric)) => Ok(Expr::Metric {
            policy: policy.map(str::to_owned),
            metric: *metric,
        }),
        None => cut_err(fail.context(expected(KNOWN))).parse_next(input),
    }
}

/// Parses a name of letters, digits and dashes, such as a label or a datacenter's name.
fn name<'i>(input: &mut &'i str) -> ModalResult<&'i str> {
    let first = |c: char| c.is_ascii_lowercase();
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (take_while(1, first), take_while(0.., rest))
        .take()
        .parse_next(input)
}

fn word<'i>(input: &mut &'i str) -> ModalResult<&'i str> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    take_while(1.., is_part)
        .context(expected(KNOWN))
        .parse_next(input)
}

fn padded<'i, O>(
    inner: impl Parser<&'i str, O, winnow::error::ErrMode<winnow::error::ContextError>>,
) -> impl Parser<&'i str, O, winnow::error::ErrMode<winnow::error::ContextError>> {
    delimited(space0, inner, space0)
}

const fn expected(what: &'static str) -> StrContext {
    StrContext::Expected(StrContextValue::Description(what))
}

const KNOWN: &str = "p50, p95, p99, mean, max, flows, finished, unfinished or below_one";

const METRICS: [(&str, Metric); 9] = [
    ("p50", Metric::Percentile(50)),
    ("p95", Metric::Percentile(95)),
    ("p99", Metric::Percentile(99)),
    ("mean", Metric::Mean),
    ("max", Metric::Max),
    ("flows", Metric::Flows),
    ("finished", Metric::Finished),
    ("unfinished", Metric::Unfinished),
    ("below_one", Metric::BelowOne),
];

/// Maximum number of characters that an error quotes from the text.
const MAX_SHOWN: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(policy: &str, metric: Metric) -> Expr {
        Expr::Metric {
            policy: (!policy.is_empty()).then(|| policy.to_owned()),
            metric,
        }
    }

    fn pair(left: Expr, operator: Operator, right: Expr) -> Expr {
        Expr::Pair(Box::new(left), operator, Box::new(right))
    }

    fn claim_of(text: &str) -> Claim {
        text.parse::<Expectation>().unwrap().claim
    }

    #[test]
    fn comparisons_bind_as_in_arithmetic() {
        let p99 = Metric::Percentile(99);
        let lcmp = metric("lcmp", p99);
        let te = metric("te-100ms", p99);
        let six = pair(Expr::Number(0.6), Operator::Multiply, te.clone());
        let sides = |left: &Expr, right: &Expr| Claim::Compare {
            left: left.clone(),
            relation: Relation::AtMost,
            right: right.clone(),
        };
        assert_eq!(
            claim_of("lcmp.p99 <= 0.6 * te-100ms.p99"),
            sides(&lcmp, &six)
        );
        assert_eq!(claim_of("lcmp.p99<=60%*te-100ms.p99"), sides(&lcmp, &six));
        let less = pair(
            pair(lcmp.clone(), Operator::Subtract, te),
            Operator::Subtract,
            six,
        );
        let text = "lcmp.p99 - te-100ms.p99 - (0.6 * te-100ms.p99) <= -1";
        let minus = Expr::Minus(Box::new(Expr::Number(1.0)));
        assert_eq!(claim_of(text), sides(&less, &minus));
        let none = Claim::Compare {
            left: metric("", Metric::Unfinished),
            relation: Relation::Equal,
            right: Expr::Number(0.0),
        };
        assert_eq!(claim_of(" unfinished == 0 "), none);
    }

    #[test]
    fn paths_are_of_all_policies_or_one_and_all_flows_or_a_share() {
        let uses = |policy: Option<&str>, share| Claim::Uses {
            policy: policy.map(str::to_owned),
            from: "dc1".into(),
            to: "dc8".into(),
            via: "dc4".into(),
            share,
        };
        assert_eq!(claim_of("path(dc1,dc8) uses dc4"), uses(None, 1.0));
        let some = "lcmp.path( dc1, dc8 ) uses dc4 >= 25%";
        assert_eq!(claim_of(some), uses(Some("lcmp"), 0.25));
    }

    #[test]
    fn errors_are_at_the_byte_that_is_wrong() {
        for (text, offset, expected) in [
            ("lcmp.p98 <= 2", 8, "p50, p95"),
            ("lcmp.p99 = 2", 9, "`<=`"),
            ("lcmp.p99 <=", 11, "a number"),
            ("lcmp.p99 <= 2 3", 14, "the end"),
            ("(lcmp.p99 <= 2", 10, "`)`"),
            ("path(dc1 dc8) uses dc4", 9, "`,`"),
            ("path(dc1,dc8) uses dc4 >= 2", 27, "a percentage"),
            ("", 0, "a number"),
        ] {
            let error = text.parse::<Expectation>().unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {error}");
            assert!(error.expected.contains(expected), "{text}: {error}");
        }
    }
}
