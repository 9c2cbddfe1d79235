//! What a run says while it goes.

/// Something that happened in a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RunEvent {
    /// A phase begins; one that has not ended ends.
    Phase {
        /// Its name.
        name: String,
        /// Steps it has.
        steps: u64,
    },
    /// One step of the phase is done.
    Step {
        /// Which.
        text: String,
    },
    /// The phase in which flows ran has ended. What follows until the next one belongs to none.
    FlowsEnd,
}
