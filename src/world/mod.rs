//! The world as judgment needs to know it: answers to questions, and who is asking.
//!
//! What may not enter: running anything, and anything that a repository configures.
