//! The record: decisions, results, grants, chained in one SQLite file.
