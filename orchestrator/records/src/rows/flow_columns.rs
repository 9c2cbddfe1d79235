//! Columns of flows.

use lab_units::{Bytes, FlowId, Nanos};
use serde::{
    Deserialize,
    de::value::{BorrowedStrDeserializer, Error},
};

use super::{FlowFields, FlowStatus};
use crate::{
    Semantics,
    columns::{Batch, Texts},
};

/// The columns of a batch of flows that [`FlowFields`] are read from, each looked up once.
pub(crate) struct FlowColumns<'a> {
    repetition: &'a [Option<u64>],
    flow_id: &'a [Option<u64>],
    policy: &'a Texts,
    semantics: Named<'a, Semantics>,
    src_dc: &'a Texts,
    dst_dc: &'a Texts,
    size_bytes: &'a [Option<u64>],
    start_ns: &'a [Option<u64>],
    fct_ns: &'a [Option<u64>],
    slowdown: &'a [Option<f64>],
    path: &'a Texts,
    status: Named<'a, FlowStatus>,
    launch_lateness_ns: &'a [Option<u64>],
    emu_ideal_fct_ns: &'a [Option<u64>],
    emu_fct_resolution_ns: &'a [Option<u64>],
}

/// A column of the names of values of `T`.
struct Named<'a, T> {
    texts: &'a Texts,
    /// Value of each text of the column; none for a text that names none.
    values: Vec<Option<T>>,
}

impl<'a> FlowColumns<'a> {
    /// Returns the columns of `batch`.
    ///
    /// # Panics
    /// If a column of [`FlowFields`] was not requested.
    pub fn of(batch: &'a Batch) -> Self {
        Self {
            repetition: batch.integers("repetition"),
            flow_id: batch.integers("flow_id"),
            policy: batch.texts("policy"),
            semantics: Named::of(batch.texts("semantics")),
            src_dc: batch.texts("src_dc"),
            dst_dc: batch.texts("dst_dc"),
            size_bytes: batch.integers("size_bytes"),
            start_ns: batch.integers("start_ns"),
            fct_ns: batch.integers("fct_ns"),
            slowdown: batch.floats("slowdown"),
            path: batch.texts("path"),
            status: Named::of(batch.texts("status")),
            launch_lateness_ns: batch.integers("launch_lateness_ns"),
            emu_ideal_fct_ns: batch.integers("emu_ideal_fct_ns"),
            emu_fct_resolution_ns: batch.integers("emu_fct_resolution_ns"),
        }
    }

    /// Returns the flow at `index`; `None` if one of its fields is invalid, which
    /// [`Batch::part`] tells.
    pub fn at(&self, index: usize) -> Option<FlowFields<'a>> {
        let slowdown = self.slowdown[index];
        if slowdown.is_some_and(|slowdown| !slowdown.is_finite()) {
            return None;
        }
        Some(FlowFields {
            repetition: u32::try_from(self.repetition[index]?).ok()?,
            flow_id: FlowId(u32::try_from(self.flow_id[index]?).ok()?),
            policy: self.policy.at(index)?,
            semantics: self.semantics.at(index)?,
            src_dc: self.src_dc.at(index)?,
            dst_dc: self.dst_dc.at(index)?,
            size_bytes: Bytes::new(self.size_bytes[index]?),
            start_ns: Nanos::new(self.start_ns[index]?),
            fct_ns: self.fct_ns[index].map(Nanos::new),
            slowdown,
            path: self.path.at(index),
            status: self.status.at(index)??,
            launch_lateness_ns: self.launch_lateness_ns[index].map(Nanos::new),
            emu_ideal_fct_ns: Nanos::new(self.emu_ideal_fct_ns[index]?),
            emu_fct_resolution_ns: self.emu_fct_resolution_ns[index].map(Nanos::new),
        })
    }
}

impl<'a, T: Copy + Deserialize<'a>> Named<'a, T> {
    fn of(texts: &'a Texts) -> Self {
        let value = |text: &'a str| {
            let text = BorrowedStrDeserializer::<Error>::new(text);
            T::deserialize(text).ok()
        };
        Self {
            texts,
            values: texts.all_kept().map(value).collect(),
        }
    }

    /// Returns the value of the row at `index`, which may have none; `None` if its text names none.
    fn at(&self, index: usize) -> Option<Option<T>> {
        match self.texts.position(index) {
            Some(position) => self.values[position].map(Some),
            None => Some(None),
        }
    }
}
