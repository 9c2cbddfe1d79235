//! Name of a datacenter in tables.

use lab_units::DcId;

use crate::model::Plan;

pub(super) fn dc_name(plan: &Plan, dc: DcId) -> &str {
    &plan.dcs[dc.index()].name
}
