//! Values with their byte range in the YAML text.

use std::{borrow::Cow, fmt, marker::PhantomData, ops::Range};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer,
    de::{
        Error, MapAccess, SeqAccess, Visitor,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use serde_saphyr::{Location, Spanned};

use super::scalar::{Scalar, Word};
use crate::limits;

/// Value and its byte range in the text; a list or mapping has an empty range at its start.
#[derive(Clone, Debug)]
pub struct At<T> {
    pub value: T,
    /// Byte range in the text.
    pub range: Range<usize>,
}

/// Single value, kept as text until [`crate::resolve`] parses it, so that all invalid values are reported together.
#[derive(Clone, Debug)]
pub struct Text<T> {
    /// Text of the value with its byte range.
    pub at: At<String>,
    meaning: PhantomData<T>,
}

/// Key that may be omitted. Unlike with [`Option`], a key that is written without a value is an error.
#[derive(Clone, Debug)]
pub struct Maybe<T>(pub Option<T>);

/// Single word, or the mapping or list in its place.
#[derive(Clone, Debug)]
pub enum WordOr<W, T> {
    /// Word that has not been parsed yet.
    Word(String, PhantomData<W>),
    /// Mapping or list in place of the word.
    Body(T),
}

/// One value or a list of values.
#[derive(Clone, Debug)]
pub struct OneOrMany<T> {
    /// The values; empty only if the text has an empty list.
    pub values: Vec<Text<T>>,
    /// True if the text has a list, false if it has a single value.
    pub is_list: bool,
    /// Byte range of the single value, or of the list's start.
    pub range: Range<usize>,
}

impl<W, T> At<WordOr<W, T>> {
    /// Returns the word as a text of type `U`; `None` if the text has a mapping or list instead.
    pub fn scalar<U>(&self) -> Option<Text<U>> {
        let WordOr::Word(text, _) = &self.value else {
            return None;
        };
        let at = At {
            value: text.clone(),
            range: self.range.clone(),
        };
        let meaning = PhantomData;
        Some(Text { at, meaning })
    }
}

impl<T> Text<T> {
    pub fn as_str(&self) -> &str {
        &self.at.value
    }

    pub fn range(&self) -> Range<usize> {
        self.at.range.clone()
    }
}

impl<T> Maybe<T> {
    /// Returns a reference to the value; `None` if the key is omitted.
    pub const fn as_ref(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Converts the parser's location into a byte range; `None` if the parser gives no position.
pub(super) fn range_of(location: Location) -> Option<Range<usize>> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let length = usize::try_from(span.byte_len()?).ok()?;
    Some(start..start + length)
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value, referenced, ..
        } = Spanned::deserialize(deserializer)?;
        let range = range_of(referenced).unwrap_or_default();
        Ok(Self { value, range })
    }
}

impl<'de, T> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let at: At<String> = At::deserialize(deserializer)?;
        check_length(&at.value)?;
        let meaning = PhantomData;
        Ok(Self { at, meaning })
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

impl<'de, W: Word, T: Deserialize<'de>> Deserialize<'de> for WordOr<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrVisitor(PhantomData))
    }
}

impl<'de, T> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = At::<WordOr<Single, Vec<Text<T>>>>::deserialize(deserializer)?;
        let single = raw.scalar().map(|value| vec![value]);
        let At { value, range } = raw;
        let (values, is_list) = match value {
            WordOr::Word(..) => (single.unwrap_or_default(), false),
            WordOr::Body(values) => (values, true),
        };
        Ok(Self {
            values,
            is_list,
            range,
        })
    }
}

/// Visitor for a single value where a list is also accepted.
#[derive(Clone, Copy)]
struct Single;

impl Word for Single {
    const WORDS: &'static [(&'static str, Self)] = &[];

    fn expected() -> &'static str {
        "a value or a list of values"
    }
}

/// Checks that a value is short enough to be quoted in messages.
fn check_length<E: Error>(value: &str) -> Result<(), E> {
    let length = value.chars().count();
    let max = limits::MAX_VALUE;
    if length > max {
        let message = format!("the value has {length} characters; it must have at most {max}");
        return Err(E::custom(message));
    }
    Ok(())
}

struct WordOrVisitor<W, T>(PhantomData<(W, T)>);

impl<'de, W: Word, T: Deserialize<'de>> Visitor<'de> for WordOrVisitor<W, T> {
    type Value = WordOr<W, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(W::expected())
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        check_length(word)?;
        Ok(WordOr::Word(word.to_owned(), PhantomData))
    }

    // YAML parses some words as booleans or numbers; here they are words like any other.
    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(WordOr::Body)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        T::deserialize(SeqAccessDeserializer::new(seq)).map(WordOr::Body)
    }
}

macro_rules! transparent_schema {
    ($wrapper:ident) => {
        impl<T: JsonSchema> JsonSchema for $wrapper<T> {
            fn inline_schema() -> bool {
                T::inline_schema()
            }

            fn schema_name() -> Cow<'static, str> {
                T::schema_name()
            }

            fn schema_id() -> Cow<'static, str> {
                T::schema_id()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                T::json_schema(generator)
            }
        }
    };
}

transparent_schema!(At);
transparent_schema!(Maybe);

impl<T: Scalar> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

impl<W: Word, T: JsonSchema> JsonSchema for WordOr<W, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "WordOr".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let body = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [W::word_schema(), body] })
    }
}
