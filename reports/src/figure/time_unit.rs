//! The unit of an axis of time.

/// A unit of time for an axis.
pub struct TimeUnit {
    name: &'static str,
    /// How many are a second.
    pub per_second: f64,
}

impl TimeUnit {
    /// The unit for times up to `seconds`.
    pub fn of(seconds: f64) -> Self {
        let (name, per_second) = match seconds {
            10.0.. => ("s", 1.0),
            0.010.. => ("ms", 1e3),
            _ => ("µs", 1e6),
        };
        Self { name, per_second }
    }

    /// What an axis of it shows.
    pub fn axis_title(&self) -> String {
        format!("time from the start ({}, paper)", self.name)
    }
}
