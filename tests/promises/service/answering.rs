//! Agents ask, named people answer.

use guard::store::queue::State;

use super::machine::{FLAGGED, Machine};
use crate::queue::stage::answer_card;

#[test]
fn what_an_agent_asks_for_runs_once_a_named_person_says_yes() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let id = asker.id.clone();
    assert!(machine.prints("ada", &["pending"], 0).contains(&id));
    let mut ada = machine.person("ada", &["approve", &id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    let screen = ada.screen();
    assert!(screen.contains("approved: git push --force"), "{screen}");
    asker.ran();
    assert_eq!((machine.ran(), machine.state(&id)), (1, State::Used));
    let rows = machine.rows();
    let users: Vec<_> = rows.iter().map(|row| row.user.as_deref().unwrap_or("-")).collect();
    assert_eq!(users, ["ada", "agent"], "{rows:?}");
    assert_eq!(rows[1].words.as_deref(), Some(format!("request {id}, approved by ada in row 1").as_str()));
    assert!(rows[1].result.as_ref().is_some_and(|result| result.exit == Some(0)), "{rows:?}");
    assert_eq!(machine.store().verify().unwrap().faults, []);
    assert!(!machine.path("home/agent/.local").exists() && !machine.path("home/ada/.local").exists());
}
