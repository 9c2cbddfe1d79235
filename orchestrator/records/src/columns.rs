//! Typed columns of a table in batches: readers of both file formats fill them, and rows and data frames are made from
//! them.

use std::ops::Range;

use serde::{
    Deserialize, Deserializer,
    de::{
        IntoDeserializer, Visitor,
        value::{Error, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use crate::rows::{Column, Kind};
pub use crate::texts::Texts;

/// Consecutive rows of one table, stored by column; at most [`BATCH_ROWS`] rows.
#[derive(Debug)]
pub struct Batch {
    columns: Vec<(Column, Values)>,
    lines: Vec<u64>,
}

/// Values of one column, one entry per row; `None` where the row has no value.
#[derive(Debug)]
pub enum Values {
    Integers(Vec<Option<u64>>),
    Floats(Vec<Option<f64>>),
    Texts(Texts),
}

impl Batch {
    pub(crate) fn new(columns: &[Column]) -> Self {
        let values = |column: &Column| match column.kind {
            Kind::Integer => Values::Integers(Vec::new()),
            Kind::Float => Values::Floats(Vec::new()),
            Kind::Text => Values::Texts(Texts::default()),
        };
        let columns = columns.iter().map(|column| (*column, values(column)));
        Self {
            columns: columns.collect(),
            lines: Vec::new(),
        }
    }

    pub(crate) fn from_columns(columns: Vec<(Column, Values)>, lines: Range<u64>) -> Self {
        Self {
            columns,
            lines: lines.collect(),
        }
    }

    /// Appends one row. `texts` has one text per column; an empty text means no value.
    pub(crate) fn push<'a>(
        &mut self,
        texts: impl Iterator<Item = &'a str>,
        line: u64,
    ) -> Result<(), String> {
        self.lines.push(line);
        for ((column, values), text) in self.columns.iter_mut().zip(texts) {
            check_length(column.name, text.len())?;
            let text = Some(text).filter(|text| !(column.optional && text.is_empty()));
            values.push(text)?;
        }
        Ok(())
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns true if the batch has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the requested columns, in the order of the table.
    pub fn columns(&self) -> impl Iterator<Item = (&Column, &Values)> {
        self.columns.iter().map(|(column, values)| (column, values))
    }

    /// Returns the values of an integer column.
    ///
    /// # Panics
    /// If `name` is not a requested integer column.
    #[must_use]
    pub fn integers(&self, name: &str) -> &[Option<u64>] {
        match self.values(name) {
            Some(Values::Integers(values)) => values,
            _ => panic!("`{name}` is not a requested integer column"),
        }
    }

    /// Returns the values of a floating-point column.
    ///
    /// # Panics
    /// If `name` is not a requested floating-point column.
    #[must_use]
    pub fn floats(&self, name: &str) -> &[Option<f64>] {
        match self.values(name) {
            Some(Values::Floats(values)) => values,
            _ => panic!("`{name}` is not a requested floating-point column"),
        }
    }

    /// Returns the values of a text column.
    ///
    /// # Panics
    /// If `name` is not a requested text column.
    #[must_use]
    pub fn texts(&self, name: &str) -> &Texts {
        match self.values(name) {
            Some(Values::Texts(texts)) => texts,
            _ => panic!("`{name}` is not a requested text column"),
        }
    }

    fn values(&self, name: &str) -> Option<&Values> {
        let found = self.columns.iter().find(|(column, _)| column.name == name);
        found.map(|(_, values)| values)
    }

    /// Returns the row's line in a CSV file, from 1, or its row number in a Parquet file.
    pub(crate) fn line(&self, index: usize) -> u64 {
        self.lines[index]
    }

    /// Returns the indices of the columns `names`, in the order of `names`.
    ///
    /// # Panics
    /// If a name is not a column of the batch.
    pub(crate) fn places(&self, names: &[&str]) -> Vec<usize> {
        let place = |name: &&str| {
            self.columns
                .iter()
                .position(|(column, _)| column.name == *name)
                .unwrap_or_else(|| panic!("`{name}` is not a requested column"))
        };
        names.iter().map(place).collect()
    }

    /// Parses the row at `index` as an `R`; the batch's columns must be the fields of `R`, in the same order.
    pub(crate) fn row<'a, R: Deserialize<'a>>(&'a self, index: usize) -> Result<R, Error> {
        let fields = self.columns.iter().map(|(_, values)| values.value(index));
        R::deserialize(SeqDeserializer::new(fields))
    }

    /// Parses some columns of the row at `index` as an `R`; `places` has the column index for each field of `R`, in
    /// order.
    pub(crate) fn part<'a, R: Deserialize<'a>>(
        &'a self,
        places: &[usize],
        index: usize,
    ) -> Result<R, Error> {
        let fields = places
            .iter()
            .map(|&place| self.columns[place].1.value(index));
        R::deserialize(SeqDeserializer::new(fields))
    }
}

impl Values {
    /// Returns the type of the values.
    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Integers(_) => Kind::Integer,
            Self::Floats(_) => Kind::Float,
            Self::Texts(_) => Kind::Text,
        }
    }

    fn push(&mut self, text: Option<&str>) -> Result<(), String> {
        fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
            let shown = || text.chars().take(MAX_SHOWN).collect::<String>();
            text.parse()
                .map_err(|_| format!("`{}` is not a number", shown()))
        }
        match self {
            Self::Integers(values) => values.push(text.map(number).transpose()?),
            Self::Floats(values) => values.push(text.map(number).transpose()?),
            Self::Texts(texts) => texts.push(text),
        }
        Ok(())
    }

    fn value(&self, index: usize) -> Value<'_> {
        let value = match self {
            Self::Integers(values) => values[index].map(Value::Integer),
            Self::Floats(values) => values[index].map(Value::Float),
            Self::Texts(texts) => texts.at(index).map(Value::Text),
        };
        value.unwrap_or(Value::None)
    }
}

/// One field of one row, as input for serde.
#[derive(Clone, Copy)]
enum Value<'a> {
    None,
    Integer(u64),
    Float(f64),
    Text(&'a str),
}

impl<'de> IntoDeserializer<'de> for Value<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::None => visitor.visit_none(),
            Self::Integer(number) => visitor.visit_u64(number),
            Self::Float(number) => visitor.visit_f64(number),
            Self::Text(text) => visitor.visit_borrowed_str(text),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::None => visitor.visit_none(),
            value => visitor.visit_some(value),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Self::Text(text) => visitor.visit_enum(text.into_deserializer()),
            value => value.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Checks that a text in `column` is not longer than [`MAX_FIELD`].
pub(crate) fn check_length(column: &str, bytes: usize) -> Result<(), String> {
    if bytes <= MAX_FIELD {
        Ok(())
    } else {
        Err(format!(
            "column `{column}` has a text of {bytes} bytes, but at most {MAX_FIELD} are allowed"
        ))
    }
}

/// Maximum length of a field in bytes, far more than any name, reason or candidate list needs.
const MAX_FIELD: usize = (1 << 16) - 1;

/// Maximum number of characters of an invalid value that an error quotes.
const MAX_SHOWN: usize = 40;

/// Total size of a batch's rows, in bytes, at which the batch ends before it has [`BATCH_ROWS`] rows.
pub(crate) const MAX_BATCH_BYTES: usize = 64 << 20;

/// Maximum number of rows in a batch and in a row group of a Parquet file: about 20 MB in the widest table.
pub const BATCH_ROWS: usize = 1 << 16;
