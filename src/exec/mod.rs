//! Running exactly what was approved.
