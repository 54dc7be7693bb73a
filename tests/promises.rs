#[path = "promises/answering.rs"]
mod answering;
#[path = "promises/approvers.rs"]
mod approvers;
#[path = "promises/asking.rs"]
mod asking;
#[path = "promises/calls.rs"]
mod calls;
#[path = "promises/clients.rs"]
mod clients;
#[path = "promises/completing.rs"]
mod completing;
#[path = "promises/config.rs"]
mod config;
#[path = "promises/corpus.rs"]
mod corpus;
#[path = "promises/crisis.rs"]
mod crisis;
#[path = "promises/doctor.rs"]
mod doctor;
#[path = "promises/documents.rs"]
mod documents;
#[path = "promises/drawing.rs"]
mod drawing;
#[path = "promises/evidence.rs"]
mod evidence;
#[path = "promises/exec.rs"]
mod exec;
#[path = "promises/exporting.rs"]
mod exporting;
#[path = "promises/facts.rs"]
mod facts;
#[path = "promises/failing.rs"]
mod failing;
#[path = "promises/fixture.rs"]
mod fixture;
#[path = "promises/git.rs"]
mod git;
#[path = "promises/harness/mod.rs"]
mod harness;
#[path = "promises/hooks.rs"]
mod hooks;
#[path = "promises/identity.rs"]
mod identity;
#[path = "promises/init.rs"]
mod init;
#[path = "promises/install.rs"]
mod install;
#[path = "promises/killing.rs"]
mod killing;
#[path = "promises/large_record.rs"]
mod large_record;
#[path = "promises/ledger.rs"]
mod ledger;
#[path = "promises/matching.rs"]
mod matching;
#[path = "promises/mcp.rs"]
mod mcp;
#[path = "promises/nesting.rs"]
mod nesting;
#[path = "promises/partial_values.rs"]
mod partial_values;
#[path = "promises/patterns.rs"]
mod patterns;
#[path = "promises/pruning.rs"]
mod pruning;
#[path = "promises/questions.rs"]
mod questions;
#[path = "promises/queue.rs"]
mod queue;
#[path = "promises/racing.rs"]
mod racing;
#[path = "promises/record.rs"]
mod record;
#[path = "promises/record_access.rs"]
mod record_access;
#[path = "promises/record_reports.rs"]
mod record_reports;
#[path = "promises/replay.rs"]
mod replay;
#[path = "promises/repositories.rs"]
mod repositories;
#[path = "promises/review.rs"]
mod review;
#[path = "promises/reviewing.rs"]
mod reviewing;
#[path = "promises/sealing.rs"]
mod sealing;
#[path = "promises/service.rs"]
mod service;
#[path = "promises/serving.rs"]
mod serving;
#[path = "promises/setup.rs"]
mod setup;
#[path = "promises/shells.rs"]
mod shells;
#[path = "promises/showing.rs"]
mod showing;
#[path = "promises/simulating.rs"]
mod simulating;
#[path = "promises/slips.rs"]
mod slips;
#[path = "promises/source.rs"]
mod source;
#[path = "promises/status.rs"]
mod status;
#[path = "promises/swapping.rs"]
mod swapping;
#[path = "promises/syntax/mod.rs"]
mod syntax;
#[path = "promises/trusting.rs"]
mod trusting;
#[path = "promises/world.rs"]
mod world;
