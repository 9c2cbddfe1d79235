//! Scenario text to Scenario: parsing, limits, errors that point, JSON Schema.
