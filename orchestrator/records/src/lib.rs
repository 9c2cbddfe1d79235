//! The run directory: row types, format version, reader and writer.
