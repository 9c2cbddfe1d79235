//! Routing policies as pure integer functions: the reference of the switch program.
