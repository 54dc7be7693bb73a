//! Files to policy: layers, their schema, and where each value came from.
