//! `guard serve`: runs the gateway. Starts it, listens, watches the queue, reloads the configuration on SIGHUP, and
//! ends on SIGTERM.
//!
//! Out of scope: the handlers of requests.

mod error;
mod listen;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};

pub use self::error::ServeError;
use self::listen::{SPARE, bind, listeners, take_files};
use crate::account::Account;
use crate::api::access::Peer;
use crate::api::credentials::ValidTokens;
use crate::api::reload::ReloadReply;
use crate::api::{AllLimits, App, locked, pages, router, submit};
use crate::backend::local::LocalBackend;
use crate::backend::remote::RemoteBackend;
use crate::backend::{Backend, BackendThread};
use crate::callback;
use crate::config::Config;
use crate::connections::{self, ConnectionLimits, PeerInfo, Slots};
use crate::logging::Log;
use crate::request_feed::RequestFeed;
use crate::request_names::RequestNames;
use crate::routing::ChannelTasks;
use crate::secrets::{NoRandomBytes, hash, secret};
use crate::store::Paths;
use crate::test_cards::TestCards;
use crate::tls::{SharedServerConfig, TlsError, TlsListener};
use crate::{blocked_ports, client, push, queue_watch, submission, tls};

/// The delay between a change of the queue's file and the update, so that one update covers several changes.
const SETTLED: Duration = Duration::from_millis(15);

/// The interval of updates without a change, and the wait after a failed update.
const SELDOM: Duration = Duration::from_secs(1);

/// The lifetime of the login code that is printed at the start.
const LOGIN: Duration = Duration::from_secs(10 * 60);

/// The time that open connections have to finish when the gateway ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// The maximum number of concurrent connections over the Unix socket.
const OWN: usize = 256;

/// The systemd unit, with a placeholder for the program.
const UNIT: &str = include_str!("guard-gateway.service");

/// The systemd unit of a machine's gateway, with placeholders for the program and the account.
const SYSTEM: &str = include_str!("system/guard-gateway.service");

/// The account of the machine's gateway, if root's configuration names none yet.
const ACCOUNT: &str = "guard-gateway";

/// The systemd socket unit.
const SOCKET: &str = include_str!("guard-gateway.socket");

/// The arguments of `guard serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The address to listen on, instead of the one in gateway.toml
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Show whether the gateway runs, the state of its channels and the number of waiting requests
    #[arg(long)]
    status: bool,
    /// Print its systemd unit for this account; with socket, a unit that starts it on the first connection; with
    /// system, the unit for a machine that uses guard serve --system
    #[arg(long, conflicts_with = "status", value_name = "KIND", num_args = 0..=1, default_missing_value = "service")]
    unit: Option<Unit>,
    /// The configuration (default: gateway.toml beside guard's own)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Units of systemd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unit {
    Service,
    Socket,
    System,
}

/// Serves until it is ended by a signal.
///
/// # Errors
/// Returns the reason why it cannot serve.
pub fn run(args: &ServeArgs) -> Result<u8, ServeError> {
    if args.unit == Some(Unit::Socket) {
        print!("{SOCKET}");
        return Ok(0);
    }
    if let Some(unit) = args.unit {
        let program = std::env::current_exe()?;
        let plain = program.to_str().filter(|path| !path.contains(['"', '\\', '%', '$', ' ']));
        let program = plain.ok_or(ServeError::OddPath)?;
        let account = Account::of_this_process();
        if unit == Unit::System && ["/home/", "/root/", "/tmp/", "/run/user/"].iter().any(|at| program.starts_with(at))
        {
            eprintln!("guard-gateway: warning: the unit cannot access this program; copy it to /usr/local/bin first");
        }
        let text = if unit == Unit::System { SYSTEM } else { UNIT };
        let account = account.gateway().unwrap_or(ACCOUNT);
        print!("{}", text.replace("@PROGRAM@", program).replace("@ACCOUNT@", account));
        return Ok(0);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if args.status { runtime.block_on(status(args)) } else { runtime.block_on(serve(args)) }
}

/// Returns the path of the configuration, and the configuration with the overrides of the options and the service.
fn configured(args: &ServeArgs, account: &Account) -> Result<(PathBuf, Config), ServeError> {
    let path = match &args.config {
        Some(path) => path.clone(),
        None => account.config_directory()?.join("gateway.toml"),
    };
    let mut config = Config::read(&path)?;
    if let Some(address) = args.listen {
        config.may_listen(address)?;
        config.listen = vec![address];
    }
    if let Some(service) = &account.service {
        // The service accepts nothing above its own limit, whatever this file contains.
        config.unsigned_tier = config.unsigned_tier.min(service.gateway_unsigned_tier);
    }
    Ok((path, config))
}

async fn serve(args: &ServeArgs) -> Result<u8, ServeError> {
    let files = take_files();
    let account = Account::of_this_process();
    let directory = account.directory()?;
    let (path, config) = configured(args, &account)?;
    let log = Log::begin(std::env::var("RUST_LOG").ok().as_deref(), &config.log)?;
    let presented: Option<SharedServerConfig> = certificate(&config)?.map(|made| Arc::new(RwLock::new(made)));
    let socket = account.socket(&config)?;
    let (opened, service) = (directory.clone(), account.service.clone());
    let backend = BackendThread::open(move || match service {
        Some(service) => RemoteBackend::open(&service, &opened).map(|remote| Box::new(remote) as Box<dyn Backend>),
        None => LocalBackend::open(&Paths::new(&opened)).map(|own| Box::new(own) as Box<dyn Backend>),
    })?;
    let key = backend.run(|backend| backend.memory().key()).await??;
    let (reloads, mut wanted) = mpsc::channel::<ReloadReply>(1);
    let app = Arc::new(App {
        backend,
        feed: RequestFeed::new(key.clone()),
        names: RequestNames::default(),
        key,
        config: RwLock::new(Arc::new(config.clone())),
        guard: submission::guard()?,
        account,
        limits: Mutex::new(AllLimits::default()),
        valid_tokens: ValidTokens::default(),
        pages: Mutex::default(),
        logins: Mutex::default(),
        once: Mutex::default(),
        judges: Mutex::default(),
        pairings: Mutex::default(),
        channels: Mutex::default(),
        connections: RwLock::default(),
        test_cards: TestCards::default(),
        reloads,
        ports: RwLock::default(),
    });
    for (request, action, client, since) in app.backend.run(|backend| backend.memory().filed()).await?? {
        app.names.set(&request, &action, &client, since);
    }
    pages::remember(&app).await?;
    app.refresh().await?;

    // The handlers are installed before anything is served: as soon as the gateway responds, it may be told to end.
    let mut hup = signal(SignalKind::hangup())?;
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;

    let (end, ended) = watch::channel(false);
    let mut servers = tokio::task::JoinSet::new();
    let slots = Slots::new(config.connections.min(files.saturating_sub(SPARE)), config.connections_each);
    let head_time = config.client_timeout();
    let limits = |slots: &Arc<Slots>| ConnectionLimits { slots: slots.clone(), head_time, ended: ended.clone() };
    // The Unix socket is bound first: the error that a gateway is already running is clearer than that an address is in
    // use.
    let unix = bind(&socket).await?;
    for listener in listeners(&config).await? {
        let bound = listener.local_addr()?;
        if let Some(why) = blocked_ports::warning(bound.port()) {
            tracing::warn!("{why}");
        }
        let (router, limits, about) = (router(app.clone()), limits(&slots), counted(&app));
        if let Some(presented) = presented.clone().filter(|_| !bound.ip().is_loopback()) {
            let listener = TlsListener::new(listener, presented)?;
            let about = move |_: &_, address: &SocketAddr| about(*address);
            servers.spawn(connections::serve(listener, router, limits, about));
            println!("guard-gateway: https://{bound}");
            continue;
        }
        app.ports.write().unwrap_or_else(PoisonError::into_inner).push(bound.port());
        let about = move |_: &_, address: &SocketAddr| about(*address);
        servers.spawn(connections::serve(listener, router, limits, about));
        println!("guard-gateway: http://{bound}");
    }
    // The Unix socket has its own slots, so that remote clients cannot exhaust those of the account.
    let own = limits(&Slots::new(OWN, OWN));
    servers.spawn(connections::serve(unix, router(app.clone()), own, |stream: &UnixStream, _| PeerInfo {
        // A peer without known credentials has no permissions.
        peer: Some(Peer::Account(stream.peer_cred().map_or(u32::MAX, |peer| peer.uid()))),
        counted: None,
    }));
    println!("guard-gateway: {}", socket.display());
    invite(&app, &config)?;

    let (changed, changes) = mpsc::channel(1);
    match app.account.service.clone() {
        Some(service) => queue_watch::service(service, changed),
        None => queue_watch::queue(directory, changed),
    }
    let looking = tokio::spawn(refresh_on_change(app.clone(), changes));
    for one in app.backend.run(|backend| backend.memory().unfinished()).await?? {
        // The process that judged this command ended with the previous gateway. The command is submitted again, under
        // the same ID.
        if let Err(why) = submit::begin(&app, one).await {
            tracing::warn!("{why}");
        }
    }
    for action in app.backend.run(|backend| backend.memory().untold()).await?? {
        callback::tell(&app, action);
    }
    let notices = tokio::spawn(push::send_notices(app.clone()));
    let mut carrier = ChannelTasks::begin(&app);
    ready();
    loop {
        let asked = tokio::select! {
            _ = term.recv() => break,
            _ = int.recv() => break,
            _ = hup.recv() => None,
            // The channel is never closed, because `app` has a sender.
            asked = wanted.recv() => asked,
        };
        let read = configured(args, &app.account).and_then(|(_, config)| Ok((certificate(&config)?, config)));
        let told = match read {
            Ok((made, config)) => {
                if let (Some(presented), Some(made)) = (&presented, made) {
                    *presented.write().unwrap_or_else(PoisonError::into_inner) = made;
                }
                let later = later(&app.config(), &config);
                if let Err(why) = log.change(&config.log) {
                    tracing::warn!("{why}");
                }
                *app.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                carrier.end().await;
                locked(&app.channels).clear();
                carrier = ChannelTasks::begin(&app);
                let told = format!("reloaded {}{later}", path.display());
                println!("guard-gateway: {told}");
                Ok(told)
            }
            Err(why) => {
                let why = why.to_string().trim_end().to_owned();
                tracing::warn!("the configuration is invalid, so the previous one is still used: {why}");
                Err(why)
            }
        };
        if let Some(asked) = asked {
            // The requester may be gone.
            let _ = asked.send(told);
        }
    }
    carrier.end().await;
    looking.abort();
    notices.abort();
    // Closes the standard input of the judging processes, which then withdraw their requests.
    locked(&app.judges).clear();
    let _ = end.send(true);
    let _ = tokio::time::timeout(FAREWELL, async { while servers.join_next().await.is_some() {} }).await;
    let _ = std::fs::remove_file(&socket);
    Ok(0)
}

/// Returns a note about changed settings that take effect only after a restart, such as the addresses to listen on.
fn later(before: &Config, now: &Config) -> String {
    let changed = [
        ("listen", before.listen != now.listen),
        ("request_secs", before.request_secs != now.request_secs),
        ("connections", (before.connections, before.connections_each) != (now.connections, now.connections_each)),
        ("socket", before.socket != now.socket),
        ("certificate", before.certificate.is_some() != now.certificate.is_some()),
    ];
    let names: Vec<&str> = changed.iter().filter(|(_, changed)| *changed).map(|(name, _)| *name).collect();
    if names.is_empty() {
        return String::new();
    }
    format!("; changes of {} take effect after a restart", names.join(" and "))
}

/// Reads the configured certificate, if there is one.
fn certificate(config: &Config) -> Result<Option<Arc<rustls::ServerConfig>>, TlsError> {
    let (Some(certificate), Some(key)) = (&config.certificate, &config.key) else { return Ok(None) };
    tls::read(certificate, key).map(Some)
}

/// Returns a function that identifies the peer of a connection by its address.
fn counted(app: &Arc<App>) -> impl Fn(SocketAddr) -> PeerInfo<Peer> + use<> {
    let app = app.clone();
    move |address| PeerInfo { peer: Some(Peer::Address(address.ip())), counted: app.config().counted(address.ip()) }
}

/// Prints the address of the page with a single-use login code, if standard output is a terminal.
fn invite(app: &App, config: &Config) -> Result<(), NoRandomBytes> {
    use std::io::IsTerminal as _;
    if !std::io::stdout().is_terminal() {
        return Ok(());
    }
    let code = secret::<16>("")?;
    locked(&app.logins).insert(hash(&code), Instant::now() + LOGIN);
    let ports = app.ports.read().unwrap_or_else(PoisonError::into_inner);
    let local = ports.first().map(|port| format!("http://localhost:{port}"));
    if let Some(page) = local.or_else(|| config.page.clone()) {
        println!("guard-gateway: open {page}/#login={code}  (once, within ten minutes)");
    }
    Ok(())
}

/// Updates the list of requests whenever the queue's file changes, and periodically.
async fn refresh_on_change(app: Arc<App>, mut changes: mpsc::Receiver<()>) {
    let mut said = None;
    loop {
        let _ = tokio::time::timeout(SELDOM, changes.recv()).await;
        tokio::time::sleep(SETTLED).await;
        while changes.try_recv().is_ok() {}
        let failed = app.refresh().await.err().map(|why| why.to_string());
        if let Some(why) = &failed {
            // A lasting error is logged only once.
            if said.as_ref() != Some(why) {
                tracing::warn!("{why}");
            }
            tokio::time::sleep(SELDOM).await;
        }
        said = failed;
    }
}

/// Notifies systemd, if it started this process, that the gateway is ready.
fn ready() {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return };
    if let Ok(socket) = std::os::unix::net::UnixDatagram::unbound() {
        let _ = socket.send_to(b"READY=1\n", path);
    }
}

/// Prints the status of the running gateway, which it queries over the Unix socket.
async fn status(args: &ServeArgs) -> Result<u8, ServeError> {
    let account = Account::of_this_process();
    account.socket(&Config::default())?;
    // A running gateway still uses the configuration that it read before, so its status can be queried even if the file
    // is now invalid.
    let (config, broken) = match configured(args, &account) {
        Ok((_, config)) => (config, None),
        Err(why) => (Config::default(), Some(why)),
    };
    let socket = account.socket(&config)?;
    let found = client::get(&socket, "/v1/status").await;
    if let Some(why) = &broken {
        let so =
            if found.is_ok() { "the running gateway still uses the previous one" } else { "the gateway cannot start" };
        println!("The configuration is invalid, so {so}: {}", why.to_string().trim_end());
    }
    let Ok(value) = found else {
        println!("No gateway listens at {}. Start it with guard serve.", socket.display());
        return Ok(1);
    };
    println!("A gateway {} listens at {}", value["version"].as_str().unwrap_or_default(), socket.display());
    for port in value["ports"].as_array().into_iter().flatten() {
        println!("page: http://localhost:{port}");
    }
    if let Some(page) = &config.page {
        println!("page: {page}");
    }
    println!("{} waiting", value["waiting"]);
    let mut all_up = broken.is_none();
    for (name, how) in value["channels"].as_object().into_iter().flatten() {
        match how["why"].as_str() {
            None => println!("{name}: up"),
            Some(why) => {
                all_up = false;
                println!("{name}: down: {why}");
            }
        }
    }
    Ok(if all_up { 0 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_only_from_the_next_start_on_is_named() {
        let of = |text: &str| Config::parse(text).unwrap();
        let (plain, both) = (of(""), of("certificate = \"/c\"\nkey = \"/k\"\n"));
        assert_eq!(later(&plain, &of("hosts = [\"guard.test\"]")), "");
        assert_eq!(later(&both, &of("certificate = \"/d\"\nkey = \"/k\"\n")), "", "a renewed one is read anew");
        assert!(later(&plain, &both).contains("changes of certificate take effect"));
        assert!(later(&both, &plain).contains("changes of certificate take effect"));
        let moved = of("listen = [\"127.0.0.1:7000\"]\nsocket = \"/run/s\"\n");
        assert_eq!(later(&plain, &moved), "; changes of listen and socket take effect after a restart");
    }
}
