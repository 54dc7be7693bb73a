//! TLS with a configured certificate, for addresses other than loopback.
//!
//! Handshakes run concurrently and with a time limit, so a client that is slow or does not use TLS blocks no other. Out
//! of scope: authentication, and the handlers of requests.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The time limit of a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The maximum number of concurrent handshakes. Further connections wait.
const HANDSHAKES: usize = 256;

/// The number of connections that can be queued after their handshake.
const READY: usize = 64;

/// The reason why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file is not PEM, or cannot be read.
    #[error("{}: {error}", path.display())]
    Pem { path: PathBuf, error: rustls::pki_types::pem::Error },
    #[error("{}: it contains no PEM certificate", .0.display())]
    NoCertificate(PathBuf),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: it is readable by everyone; run chmod o= on it", .0.display())]
    ReadableByEveryone(PathBuf),
    /// The certificate does not match the key.
    #[error("{}: {error}", path.display())]
    Mismatch { path: PathBuf, error: rustls::Error },
    /// No TLS version is supported.
    #[error(transparent)]
    Versions(rustls::Error),
}

/// The current configuration. A renewed certificate is used from the next connection on.
pub type SharedServerConfig = Arc<RwLock<Arc<ServerConfig>>>;

/// Reads a certificate chain and its private key, both as PEM.
///
/// # Errors
/// Returns an error if one of the files cannot be read or is invalid, if the key is readable by everyone, or if the two
/// do not match.
pub fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let pem = |path: &Path| {
        let path = path.to_owned();
        |error| TlsError::Pem { path, error }
    };
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificate).and_then(|all| all.collect::<Result<Vec<_>, _>>());
    let chain = chain.map_err(pem(certificate))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate(certificate.to_owned()));
    }
    // The key may be readable by a group, because this is how systems share keys with the services that use them.
    let told = |error| TlsError::File { path: key.to_owned(), error };
    let mode = std::fs::metadata(key).map_err(told)?.mode();
    if mode & 0o007 != 0 {
        return Err(TlsError::ReadableByEveryone(key.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(pem(key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let built = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let built = built.map_err(TlsError::Versions)?.with_no_client_auth();
    let told = |error| TlsError::Mismatch { path: certificate.to_owned(), error };
    let mut built = built.with_single_cert(chain, private).map_err(told)?;
    built.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(built))
}

/// A listener that returns connections after their TLS handshake.
pub struct TlsListener {
    address: SocketAddr,
    ready: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
}

impl TlsListener {
    /// Accepts connections in the background until this is dropped.
    ///
    /// # Errors
    /// Returns an error if the address of the listener is unknown.
    pub fn new(mut listener: TcpListener, presented: SharedServerConfig) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (done, ready) = mpsc::channel(READY);
        let places = Arc::new(Semaphore::new(HANDSHAKES));
        tokio::spawn(async move {
            loop {
                let Ok(place) = places.clone().acquire_owned().await else { return };
                let accepted = tokio::select! {
                    () = done.closed() => return,
                    accepted = Listener::accept(&mut listener) => accepted,
                };
                let (stream, from) = accepted;
                let now = presented.read().unwrap_or_else(PoisonError::into_inner).clone();
                let done = done.clone();
                tokio::spawn(async move {
                    let _place = place;
                    // A client whose handshake fails gets no reply: there is no connection to send it on.
                    let shaken = tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(now).accept(stream)).await;
                    if let Ok(Ok(stream)) = shaken {
                        let _ = done.send((stream, from)).await;
                    }
                });
            }
        });
        Ok(Self { address, ready })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.ready.recv().await {
            Some(one) => one,
            // The accepting task has ended with the process, so there are no further connections.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(self.address)
    }
}
