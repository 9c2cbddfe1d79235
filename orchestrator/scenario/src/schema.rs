//! The JSON Schema of scenarios, for editors.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::raw;

/// The JSON Schema (draft 2020-12) of a scenario.
///
/// It describes form, units and bounds of single values; what depends on two places, such as a
/// link to a datacenter that is not there, only [`parse`](crate::parse()) finds.
#[must_use]
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<raw::Scenario>().to_value()
}
