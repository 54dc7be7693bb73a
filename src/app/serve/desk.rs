//! One connection: what is asked, by whom, and whether they may.
//!
//! The account, the session and the processes of whoever speaks are what the kernel says. What they say is taken for
//! their own command alone: nobody names another account, another's request, or a person who was not there.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::client::line;
use super::house::House;
use super::message::{Ask, Given, New, Reply, Row, Said, SettledBy, Text, VERSION, Version};
use super::show;
use crate::app::approver::sign;
use crate::app::desk::place::attempted;
use crate::app::export::deliver;
use crate::app::keeper;
use crate::judge::approved::{GrantId, Receipt};
use crate::judge::approver::{self, Signed};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Invocation, Line, Request, Session};
use crate::judge::policy::{Basis, Refusal};
use crate::judge::risk::{Risk, Tier};
use crate::judge::syntax::tree::Dialect;
use crate::service::line::Lines;
use crate::store::queue::{self, Answer, Filed, Found, NewRequest, Outcome, Pending, Queue, State, Told, Whole};
use crate::store::{End, Handed, IntentRow, NewGrant, Retention, Settled, Store};
use crate::world::identity::Caller;
use crate::world::peer::Peer;

/// A connection over which nothing is said for so long is closed.
const IDLE: Duration = Duration::from_secs(60);

/// How many requests of one account that nobody waits for are kept to be answered late.
const MAX_LATE: usize = 50;

/// The longest time that a command may wait, in seconds.
const MAX_WAIT: i64 = 24 * 60 * 60;

/// What an answer is, or why there is none.
type Or<T> = Result<T, String>;

/// A connection.
pub(super) struct Talk<'a> {
    house: &'a House,
    peer: Peer,
    store: OnceCell<Store>,
    queue: OnceCell<Queue>,
    /// Commands for which a yes was taken over this connection, and whose it was.
    taken: HashMap<Digest, String>,
    /// Requests that were filed over this connection, to be waited for.
    filed: Vec<String>,
    /// Grants of which this connection was told.
    granted: HashSet<i64>,
}

fn told<T>(result: Result<T, crate::store::StoreError>) -> Or<T> {
    result.map_err(|error| error.to_string())
}

fn reply<T: Serialize>(result: Or<T>) -> Vec<u8> {
    line(&match result {
        Ok(value) => Reply::Ok(value),
        Err(why) => Reply::Error(why),
    })
}

impl<'a> Talk<'a> {
    pub fn new(house: &'a House, peer: Peer) -> Self {
        let (store, queue) = (OnceCell::new(), OnceCell::new());
        Self { house, peer, store, queue, taken: HashMap::new(), filed: Vec::new(), granted: HashSet::new() }
    }

    /// Answers until the other end has nothing more to say, or says what is none.
    pub fn run(mut self, mut lines: Lines) {
        loop {
            let heard = match lines.receive(Some(IDLE)) {
                Ok(Some(heard)) => heard,
                Ok(None) => {
                    for id in self.filed.iter().filter(|id| !self.house.is_heard(id)) {
                        self.gone(id);
                    }
                    return;
                }
                Err(error) => {
                    if error.kind() == std::io::ErrorKind::InvalidData {
                        let _ = lines.send(reply::<()>(Err(error.to_string())));
                    }
                    return;
                }
            };
            // A process that handed its connection on and ended does not speak any more.
            if !self.peer.is_there() {
                return;
            }
            let ask = match read(&heard) {
                Ok(ask) => ask,
                Err(why) => {
                    let _ = lines.send(reply::<()>(Err(why)));
                    return;
                }
            };
            let answer = match ask {
                Ask::Listen { id } => return self.listen(&id, lines),
                Ask::Show { words, environment } => {
                    return match self.approver("read the record") {
                        Ok(()) => show::on(self.house, &words, environment, lines),
                        Err(why) => drop(lines.send(reply::<()>(Err(why)))),
                    };
                }
                ask => self.answer(ask, heard.len()),
            };
            if lines.send(answer).is_err() {
                return;
            }
        }
    }

    fn answer(&mut self, ask: Ask, length: usize) -> Vec<u8> {
        let writes = !matches!(
            ask,
            Ask::Standing { .. }
                | Ask::Grants { .. }
                | Ask::IsHanded { .. }
                | Ask::List
                | Ask::Find { .. }
                | Ask::Whole { .. }
                | Ask::Take { .. }
                | Ask::Signatures { .. }
                | Ask::Sessions
        );
        if writes && let Err(why) = self.house.spend(self.uid(), length) {
            return reply::<()>(Err(why));
        }
        match ask {
            Ask::Standing { root, parent } => reply(self.standing(&root, parent.as_deref())),
            Ask::Grants { session, command } => reply(self.grants(&session, &command)),
            Ask::Row(row) => reply(self.row(*row)),
            Ask::IsHanded { handed, cwd, root, tier } => reply(self.is_handed(&(handed, cwd), &root, tier)),
            Ask::Result { row, exit, signal, duration_ms } => reply(self.result(row, exit, signal, duration_ms)),
            Ask::File(new) => reply(self.file(*new)),
            Ask::Take { id, digest, bindings } => reply(self.take(&id, &digest, &bindings)),
            Ask::GiveUp { id } => reply(self.give_up(&id)),
            Ask::Void { id, what } => reply(self.void(&id, &what)),
            Ask::List => reply(self.list()),
            Ask::Find { id } => reply(self.visible(&id).map(|found| found.map(Told::from))),
            Ask::Whole { id } => reply(self.whole(&id)),
            Ask::Signatures { id, digest, bindings } => reply(self.signatures(&id, &digest, &bindings)),
            Ask::Answer(given) => reply(self.give(*given)),
            Ask::Grant { what, place, until, words, user, session } => {
                let words = format!("{words} (given by {})", self.user());
                let grant = NewGrant {
                    what: &what,
                    place: &place,
                    until: &until,
                    words: &words,
                    user: &user,
                    session: &session,
                };
                reply(self.grant(&grant))
            }
            Ask::Sessions => {
                let known = self.approver("see how sessions stand").and_then(|()| self.store());
                reply(known.and_then(|store| told(keeper::sessions(store, Timestamp::now()))))
            }
            Ask::Resume { root, session, why } => reply(self.resume(&root, &session, &why)),
            Ask::Listen { .. } | Ask::Show { .. } => reply::<()>(Err("that is said alone".to_owned())),
        }
    }

    const fn uid(&self) -> u32 {
        self.peer.caller.account.uid
    }

    fn user(&self) -> &str {
        &self.peer.caller.account.name
    }

    fn store(&self) -> Or<&Store> {
        if self.store.get().is_none() {
            let _ = self.store.set(told(Store::open(&self.house.paths))?);
        }
        self.store.get().ok_or_else(String::new)
    }

    fn queue(&self) -> Or<&Queue> {
        if self.queue.get().is_none() {
            let _ = self.queue.set(told(Queue::open(&self.house.paths))?);
        }
        self.queue.get().ok_or_else(String::new)
    }

    /// A process above the speaker, by the name that the speaker gives it; none where it stands elsewhere.
    fn above<'b>(&self, name: Option<&'b str>) -> Option<&'b str> {
        name.filter(|name| self.peer.is_below(name))
    }

    fn standing(&self, root: &str, parent: Option<&str>) -> Or<crate::judge::policy::Standing> {
        let store = self.store()?;
        let mut standing = told(store.standing(&self.peer.root(root), Timestamp::now()))?;
        standing.above = self.above(parent).and_then(|parent| store.approved_above(parent).ok().flatten());
        Ok(standing)
    }

    fn grants(&mut self, session: &str, command: &str) -> Or<Vec<crate::judge::approved::Grant>> {
        let found = told(self.store()?.grants_of(Some(self.user()), session, command, Timestamp::now()))?;
        self.granted.extend(found.iter().filter_map(|grant| match grant.id {
            GrantId::Stored(number) => Some(number),
            GrantId::Configured(_) => None,
        }));
        Ok(found)
    }

    fn invocation(&self, request: Request, cwd: PathBuf, origin: crate::judge::invocation::Origin) -> Invocation {
        Invocation { request, cwd, origin, ..self.peer.caller.invocation(Request::Argv(Vec::new())) }
    }

    fn row(&mut self, row: Row) -> Or<Option<i64>> {
        let store = self.store()?;
        let parent = self.above(row.parent.as_deref());
        let basis = match &row.settled {
            SettledBy::Allowed(basis) => Some(basis),
            SettledBy::Refused(_) | SettledBy::Asked => None,
        };
        let holds = match (&row.settled, basis) {
            // A person's yes is one that was taken from the queue, or of those who may answer themselves.
            (_, Some(Basis::Person)) => match self.taken.get(&row.digest) {
                Some(by) => row.words.as_ref().is_some_and(|words| words.starts_with(by)),
                None => self.is_answered_here(),
            },
            (_, Some(Basis::YesInAdvance)) | (SettledBy::Asked, _) => self.is_answered_here(),
            (_, Some(Basis::Host)) => row.handed.is_some() && !row.advised,
            (_, Some(Basis::Above(number))) => {
                let above = parent.and_then(|parent| store.approved_above(parent).ok().flatten());
                above.is_some_and(|above| above.row == *number)
            }
            (_, Some(Basis::Grant(GrantId::Stored(number)))) => self.granted.contains(number),
            (_, Some(Basis::Grant(_) | Basis::Score | Basis::Support | Basis::ModeOff)) => true,
            (SettledBy::Refused(_) | SettledBy::Allowed(_), None) => true,
        };
        if !holds {
            let how = basis.map_or("asked", Basis::name);
            return Err(format!("the record does not bear out that it was settled so ({how})"));
        }
        let root = self.peer.root(&row.root);
        let line = Line {
            text: row.command.into_bytes(),
            dialect: Dialect::Bash,
            shell: PathBuf::from("/"),
            options: Vec::new(),
            positional: Vec::new(),
            before: Vec::new(),
            envelope: None,
        };
        let mut invocation = self.invocation(Request::Line(line), path(&row.cwd)?, row.origin);
        let agent = self.peer.caller.session.agent.clone().or(row.agent);
        invocation.session = Session { id: row.session, root: root.clone(), agent };
        let risk = Risk::from(row.risk);
        let process = self.peer.name();
        let written = IntentRow {
            at: Timestamp::now(),
            invocation: &invocation,
            digest: row.digest,
            risk: &risk,
            settled: match &row.settled {
                SettledBy::Allowed(basis) => Settled::Allowed(basis),
                SettledBy::Refused(refusal) => Settled::Refused(refusal),
                SettledBy::Asked => Settled::Asked,
            },
            answer_ms: row.answer_ms,
            words: row.words.as_deref(),
            parent,
            process: process.as_deref().filter(|_| row.waits),
            shape: row.shape.as_deref(),
        };
        let handed = row.handed.as_ref().map(both_of).transpose()?;
        let handed = handed.as_ref().map(|(text, cwd)| Handed { text, cwd, root: &root });
        let receipt = match (&handed, row.advised) {
            (None, false) => told(store.intent(&written)).map(Some),
            (None, true) => told(store.advised(&written)).map(Some),
            (Some(handed), true) => told(store.advised_and_handed(&written, handed)).map(Some),
            (Some(handed), false) => told(store.intent_of_handed(&written, handed)),
        }?;
        let number = receipt.and_then(Receipt::row);
        if matches!(row.settled, SettledBy::Allowed(Basis::Person)) {
            // One yes is one row.
            let _ = self.taken.remove(&row.digest);
        }
        let store = self.store()?;
        self.deliver(store, number);
        if matches!(row.settled, SettledBy::Refused(_)) {
            self.keep_to_policy(store);
        }
        Ok(number)
    }

    fn deliver(&self, store: &Store, row: Option<i64>) {
        deliver::from(store, self.house.paths.folder(), &self.house.policy.export_to, row);
    }

    fn keep_to_policy(&self, store: &Store) {
        let kept = Retention { days: self.house.policy.retention_days, mib: self.house.policy.retention_mib };
        let _ = store.keep_to_policy(kept, &self.house.service.account, Timestamp::now());
    }

    /// Whether the speaker is one who may say yes to their own commands, and a person may be there.
    fn is_answered_here(&self) -> bool {
        let service = &self.house.service;
        service.own_requests && service.approves(self.user()) && self.peer.why_no_person().is_none()
    }

    fn is_handed(&self, handed: &(Text, Text), root: &str, tier: Tier) -> Or<bool> {
        let (text, cwd) = both_of(handed)?;
        let root = self.peer.root(root);
        told(self.store()?.is_handed(&Handed { text: &text, cwd: &cwd, root: &root }, tier, Timestamp::now()))
    }

    fn result(&self, row: i64, exit: Option<i32>, signal: Option<i32>, duration_ms: u64) -> Or<()> {
        let store = self.store()?;
        let waits = self.peer.name().map_or(Ok(None), |process| told(store.waited_for(&process)))?;
        if waits != Some(row) {
            return Err(format!("row {row} is not what this process waits for"));
        }
        let end = signal.map_or(End::Exit(exit.unwrap_or(0)), End::Signal);
        told(store.result(&Receipt::Recorded(row), &crate::store::Outcome { end, duration_ms }, Timestamp::now()))?;
        self.deliver(store, Some(row));
        self.keep_to_policy(store);
        Ok(())
    }

    fn file(&mut self, new: New) -> Or<Filed> {
        let queue = self.queue()?;
        let bytes = new.exact.bytes().ok_or("the command is not as it is to be written")?;
        let blank = queue::blank();
        let whole = Whole::unpack(blank, &bytes).ok_or("the command is not as this version writes it")?;
        let now = Timestamp::now();
        let mine: Vec<Pending> = told(queue.list(now))?.into_iter().filter(|one| one.user == self.user()).collect();
        let alive = |one: &&Pending| one.waiter.as_deref().is_none_or(Caller::lives);
        let waiting = mine.iter().filter(|one| one.state == State::Waiting).filter(alive).count();
        let most = self.house.policy.queue_pending;
        if waiting >= usize::try_from(most).unwrap_or(usize::MAX) {
            return Ok(Filed::Crowded { waiting: u32::try_from(waiting).unwrap_or(u32::MAX) });
        }
        // The oldest first.
        let late: Vec<_> = mine.iter().filter(|one| one.state == State::Late).collect();
        for one in late.iter().take(late.len().saturating_sub(MAX_LATE)) {
            told(queue.void(&one.id, "this account left too many behind"))?;
        }
        let peer = &self.peer.caller;
        let mut invocation = Invocation { uid: self.uid(), user: self.user().to_owned(), ..whole.invocation };
        invocation.home.clone_from(&peer.account.home);
        invocation.session.root = self.peer.root(&invocation.session.root);
        if let Some(agent) = &peer.session.agent {
            invocation.session.agent = Some(agent.clone());
        }
        let name = self.peer.name().ok_or("what process this is cannot be told")?;
        let last = now.saturating_add(SignedDuration::from_secs(MAX_WAIT)).unwrap_or(now);
        let risk = Risk::from(new.risk);
        let request = NewRequest {
            invocation: &invocation,
            digest: &whole.digest,
            risk: &risk,
            bindings: &whole.bindings,
            waiter: new.waits.then_some(name.as_str()),
            above: peer.above(),
            expires: new.expires.clamp(now, last),
            most,
            approvals: new.approvals.max(self.house.policy.approvals.wanted(&risk)),
        };
        let filed = told(queue.file(&request, &Caller::lives, now))?;
        if let (Filed::Waits { id, .. }, true) = (&filed, new.waits) {
            self.filed.push(id.clone());
        }
        Ok(filed)
    }

    /// A request of the speaker's own.
    fn own(&self, id: &str) -> Or<Pending> {
        let found = told(self.queue()?.find(id))?.filter(|one| one.user == self.user());
        found.ok_or_else(|| format!("this account has no request {id}"))
    }

    fn take(&mut self, id: &str, digest: &Digest, bindings: &Bindings) -> Or<Found> {
        self.own(id)?;
        let found = told(self.queue()?.take(self.store()?, id, digest, bindings))?;
        if let Found::Yes(answered) = &found {
            let by = format!("request {id}, approved by {} in row {}", answered.by, answered.row);
            self.taken.insert(*digest, by);
        }
        Ok(found)
    }

    fn give_up(&self, id: &str) -> Or<bool> {
        let own = self.own(id)?;
        if own.waiter.is_some() && own.waiter != self.peer.name() {
            return Err(format!("another process waits for {id}"));
        }
        told(self.queue()?.give_up(id))
    }

    fn void(&self, id: &str, what: &str) -> Or<bool> {
        self.own(id)?;
        let voided = told(self.queue()?.void(id, what))?;
        self.house.ring(id);
        Ok(voided)
    }

    fn list(&self) -> Or<Vec<Told>> {
        let all = told(self.queue()?.list(Timestamp::now()))?;
        Ok(all.into_iter().filter(|one| self.sees(one)).map(Told::from).collect())
    }

    fn sees(&self, one: &Pending) -> bool {
        one.user == self.user() || self.house.service.approves(self.user())
    }

    /// A request that the speaker may see.
    fn visible(&self, id: &str) -> Or<Option<Pending>> {
        Ok(told(self.queue()?.find(id))?.filter(|one| self.sees(one)))
    }

    fn whole(&self, id: &str) -> Or<Option<(Told, Text)>> {
        if self.visible(id)?.is_none() {
            return Ok(None);
        }
        let whole = told(self.queue()?.whole(id))?;
        Ok(whole.map(|Whole { pending, invocation, digest, bindings, above }| {
            (pending.into(), Text::of(&queue::pack(&invocation, &digest, &bindings, &above)))
        }))
    }

    /// Tells of what happens to a request, for as long as the other end listens. Who waited and is gone has given up.
    fn listen(self, id: &str, mut lines: Lines) {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let found = self.visible(id).and_then(|found| found.ok_or_else(|| format!("there is no request {id}")));
        let stream = found.and_then(|_| lines.stream().try_clone().map_err(|error| error.to_string()));
        let key = NEXT.fetch_add(1, Ordering::Relaxed);
        match stream {
            Ok(stream) => self.house.remember(id, key, stream),
            Err(why) => return drop(lines.send(reply::<()>(Err(why)))),
        }
        if lines.send(reply(Ok(()))).is_ok() {
            // Nothing is said here any more: whatever comes ends it.
            let _ = lines.receive(None);
        }
        self.house.forget(id, key);
        self.gone(id);
    }

    /// The process at the other end is gone, and what it waited for is waited for no more.
    fn gone(&self, id: &str) {
        let waits =
            |one: &Pending| one.state == State::Waiting && one.waiter.is_some() && one.waiter == self.peer.name();
        if self.own(id).is_ok_and(|one| waits(&one))
            && let Ok(queue) = self.queue()
        {
            let _ = queue.give_up(id);
        }
    }

    /// That the speaker is one of those who may answer, and a person.
    fn approver(&self, what: &str) -> Or<()> {
        if self.house.service.approves(self.user()) {
            return Ok(());
        }
        Err(format!("{} may not {what}: /etc/guard/config.toml names who may, as approvers", self.user()))
    }

    /// Why no answer to this request is taken from the speaker.
    fn may_answer(&self, pending: &Pending) -> Or<()> {
        self.approver("answer")?;
        if let Some(why) = self.peer.why_no_person() {
            return Err(why);
        }
        if pending.user == self.user() && !self.house.service.own_requests {
            return Err("the account that asked does not answer".to_owned());
        }
        if pending.root == self.peer.caller.session.root {
            return Err("the session that asked does not answer".to_owned());
        }
        let queue = self.queue()?;
        let above = told(queue.whole(&pending.id))?.map_or_else(Vec::new, |whole| whole.above);
        if above.iter().any(|name| self.peer.is_below(name)) {
            return Err("a process that stands above the command that asked stands above this one too".to_owned());
        }
        let waiters = told(queue.list(Timestamp::now()))?.into_iter().filter_map(|one| one.waiter);
        if waiters.into_iter().any(|name| self.peer.is_below(&name)) {
            return Err("a guard that waits stands above this process".to_owned());
        }
        Ok(())
    }

    fn give(&self, given: Given) -> Or<Outcome> {
        let shown = Pending::from(given.shown);
        // What may be answered is what the queue says of it, whatever was shown.
        let Some(pending) = self.visible(&shown.id)? else { return Ok(Outcome::Unknown) };
        if let Err(why) = self.may_answer(&pending) {
            self.attempt(&format!("request {}: {why}", pending.id));
            return Err(Refusal::Attempt { why }.to_string());
        }
        let approvals = given.approvals.max(pending.approvals);
        let mut signer = Vec::new();
        if let Some((digest, bindings)) = &given.yes {
            let enrolled = self.house.enrolled();
            if sign::is_wanted(&enrolled, pending.tier, approvals) {
                let message = approver::approval(&pending.id, digest, bindings);
                // Of several, this is one; that it is there and holds is what is wanted now.
                let names = sign::are_enough(&enrolled, (pending.tier.max(Tier::High), 1), &message, &given.signatures);
                let names = names.map_err(|why| Refusal::Unsigned { why }.to_string())?;
                signer = names.first().map_or_else(Vec::new, |name| sign::names(&enrolled, name));
            }
        }
        let answer = Answer {
            yes: given.yes.as_ref().map(|(digest, bindings)| (digest, bindings)),
            by: self.user(),
            words: given.words.as_deref(),
            signatures: &given.signatures,
            waited_for: pending.waiter.as_deref().is_none_or(Caller::lives) && pending.expires > Timestamp::now(),
            approvals,
            signer: &signer,
        };
        let outcome = told(self.queue()?.answer(self.store()?, &shown, &answer, Timestamp::now()))?;
        self.house.ring(&pending.id);
        Ok(outcome)
    }

    fn signatures(&self, id: &str, digest: &Digest, bindings: &Bindings) -> Or<Option<Vec<Signed>>> {
        if self.visible(id)?.is_none() {
            return Ok(None);
        }
        told(self.queue()?.given(self.store()?, id, digest, bindings))
    }

    fn attempt(&self, why: &str) {
        let words = ["guard", "approve"].iter().map(OsString::from).collect();
        let invocation = self.invocation(Request::Argv(words), PathBuf::from("/"), self.peer.caller.origin);
        if let Ok(store) = self.store() {
            attempted(&invocation, why, |row| drop(store.intent(row)));
        }
    }

    fn person(&self, what: &str) -> Or<()> {
        self.approver(what)?;
        self.peer.why_no_person().map_or(Ok(()), |why| Err(Refusal::Attempt { why }.to_string()))
    }

    fn grant(&self, grant: &NewGrant<'_>) -> Or<i64> {
        self.person("give grants")?;
        if grant.user == self.user() && !self.house.service.own_requests {
            return Err("an account gives itself no grants".to_owned());
        }
        told(self.store()?.grant(grant, Timestamp::now()))
    }

    fn resume(&self, root: &str, session: &str, why: &str) -> Or<i64> {
        self.person("let a session go on")?;
        let own = root.split_once('@').is_some_and(|(uid, _)| uid == self.uid().to_string());
        if root == self.peer.caller.session.root || (own && !self.house.service.own_requests) {
            return Err("an account does not resume its own sessions".to_owned());
        }
        told(self.store()?.resume(root, session, self.user(), why, Timestamp::now()))
    }
}

/// A line as a question.
fn read(heard: &[u8]) -> Or<Ask> {
    match serde_json::from_slice::<Said>(heard) {
        Ok(Said { v: VERSION, ask }) => Ok(ask),
        parsed => match (serde_json::from_slice::<Version>(heard), parsed) {
            (Ok(Version { v }), _) if v != VERSION => {
                Err(format!("guard and its service are of different versions ({v} and {VERSION}): restart the service"))
            }
            (_, Err(error)) => Err(format!("that is no question: {error}")),
            (_, Ok(_)) => Err("that is no question".to_owned()),
        },
    }
}

fn path(text: &Text) -> Or<PathBuf> {
    text.bytes()
        .map(|bytes| OsString::from_vec(bytes).into())
        .ok_or_else(|| "a folder is not as it is to be written".to_owned())
}

fn both_of(both: &(Text, Text)) -> Or<(Vec<u8>, PathBuf)> {
    let text = both.0.bytes().ok_or("a command is not as it is to be written")?;
    Ok((text, path(&both.1)?))
}
