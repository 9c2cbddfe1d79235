//! The agent of one DCI switch: loads the switch program, installs tables, samples queues.
