//! The certificate that we show: one that is given, read again when it changes, or one of our own making, made anew long
//! before it expires.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use tokio::task::{JoinError, spawn_blocking};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{Error as PemError, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{ServerConfig, version};

use crate::core::time::{Millis, Wall};
use crate::runtime::settings::Certificate;
use crate::runtime::text::chain;

/// The names of a Secret of type kubernetes.io/tls.
const FILES: (&str, &str) = ("tls.crt", "tls.key");
/// No Secret is larger.
const FILE_MAX: u64 = 1 << 20;
/// How often the certificate is looked at. A kubelet takes a minute or so to show a Secret that has changed.
const LOOK: Duration = Duration::from_secs(10);

const HOUR_MS: Millis = 3_600_000;
/// A certificate of ours is good for 30 days, and made anew after 20.
const VALID_MS: Millis = 30 * 24 * HOUR_MS;
const RENEW_MS: Millis = 20 * 24 * HOUR_MS;
/// It is good from before it was made: others' clocks are behind ours.
const BEFORE_MS: Millis = HOUR_MS;
/// The end of the year 9999, the last that a certificate can name.
const LAST_MS: i64 = 253_402_300_799_000;

/// Why no certificate can be shown.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of it.
    #[error("cannot read {}", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// What is in the file.
    #[error("{} is no PEM file with what it is named for", .0.display())]
    Pem(PathBuf, #[source] PemError),
    /// The file has none.
    #[error("{} has no certificate", .0.display())]
    Missing(PathBuf),
    /// The certificate and the key of a directory.
    #[error("certificate and key of {} cannot be used", .0.display())]
    Pair(PathBuf, #[source] rustls::Error),
    /// Reading was ended.
    #[error("reading the certificate ended by itself")]
    Ended(#[from] JoinError),
    /// One of our own.
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    /// The library's settings.
    #[error("cannot speak TLS")]
    Library(#[from] rustls::Error),
}

/// What handshakes show; it can be replaced meanwhile.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    fn replace(&self, key: CertifiedKey) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(key);
    }

    fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

/// Where the certificate comes from, and which one it is.
#[derive(Debug)]
enum Origin {
    Given { directory: PathBuf, files: Files },
    Own { host: String, made: Wall },
}

/// The two files, as they are.
#[derive(Debug, PartialEq, Eq)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// TLS with a certificate that stays good for as long as its renewal runs (`Tls::renew`).
pub struct Tls {
    config: Arc<ServerConfig>,
    shown: Arc<Shown>,
    origin: Origin,
    clock: fn() -> Wall,
    /// The problem that was told of.
    problem: Option<String>,
}

impl Tls {
    /// Reads or makes the first certificate. One of our own names this host.
    ///
    /// # Errors
    /// It cannot be read, or cannot be used.
    pub fn new(certificate: &Certificate, host: &str, clock: fn() -> Wall) -> Result<Self, TlsError> {
        let (key, origin) = match certificate {
            Certificate::Directory(directory) => {
                let files = Files::read(directory)?;
                (files.parse(directory)?, Origin::Given { directory: directory.clone(), files })
            }
            Certificate::Own => {
                let made = clock();
                (make(host, made)?, Origin::Own { host: host.to_owned(), made })
            }
        };
        let shown = Arc::new(Shown(RwLock::new(Arc::new(key))));
        Ok(Self { config: Arc::new(config(Arc::clone(&shown))?), shown, origin, clock, problem: None })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }

    /// Keeps the certificate good. Never ends.
    pub(super) async fn renew(mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let renewed = self.look().await;
            self.tell(renewed);
        }
    }

    /// Replaces the certificate if there is another one, or if it is old; whether it did.
    async fn look(&mut self) -> Result<bool, TlsError> {
        match &mut self.origin {
            Origin::Given { directory, files } => {
                let from = directory.clone();
                // On another thread: whatever is mounted there may hang.
                let found = spawn_blocking(move || Files::read(&from)).await??;
                if found == *files {
                    return Ok(false);
                }
                self.shown.replace(found.parse(directory)?);
                *files = found;
            }
            Origin::Own { host, made } => {
                let now = (self.clock)();
                if !is_old(*made, now) {
                    return Ok(false);
                }
                self.shown.replace(make(host, now)?);
                *made = now;
            }
        }
        Ok(true)
    }

    /// A problem is told of when it is another one, and when it is over.
    fn tell(&mut self, renewed: Result<bool, TlsError>) {
        let problem = renewed.as_ref().err().map(|error| chain(error));
        match (&problem, renewed) {
            (Some(problem), _) if self.problem.as_ref() != Some(problem) => {
                tracing::warn!(problem, "the certificate cannot be renewed; the one before is still shown");
            }
            (None, Ok(true)) => tracing::info!("shows another certificate"),
            (None, _) if self.problem.is_some() => tracing::info!("the certificate can be read again; it is the same"),
            (Some(_) | None, _) => {}
        }
        self.problem = problem;
    }
}

/// TLS 1.3 alone: whoever is to read this (kubelets, Prometheus, curl) has known it for years.
fn config(shown: Arc<Shown>) -> Result<ServerConfig, rustls::Error> {
    let config = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&version::TLS13])?;
    let mut config = config.with_no_client_auth().with_cert_resolver(shown);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// The one that the client of the API server uses too.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Files {
    fn read(directory: &Path) -> Result<Self, TlsError> {
        let read = |name| -> Result<Vec<u8>, TlsError> {
            let path = directory.join(name);
            let mut bytes = Vec::new();
            let result = File::open(&path).and_then(|file| file.take(FILE_MAX).read_to_end(&mut bytes));
            result.map_err(|error| TlsError::Read(path, error))?;
            Ok(bytes)
        };
        Ok(Self { certificate: read(FILES.0)?, key: read(FILES.1)? })
    }

    fn parse(&self, directory: &Path) -> Result<CertifiedKey, TlsError> {
        let (first, second) = (directory.join(FILES.0), directory.join(FILES.1));
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.certificate).collect();
        let chain = chain.map_err(|error| TlsError::Pem(first.clone(), error))?;
        if chain.is_empty() {
            return Err(TlsError::Missing(first));
        }
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|error| TlsError::Pem(second, error))?;
        // Says too whether the key is that of the certificate.
        let pair = CertifiedKey::from_der(chain, key, &provider());
        pair.map_err(|error| TlsError::Pair(directory.to_owned(), error))
    }
}

/// Also one from the future: a clock was wrong.
fn is_old(made: Wall, now: Wall) -> bool {
    now < made || now >= made.after(RENEW_MS)
}

/// A certificate that signs itself. It says nothing of who shows it, but nobody who only listens can read what is sent.
fn make(host: &str, now: Wall) -> Result<CertifiedKey, TlsError> {
    let is_name = |name: &&str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
    };
    let names = [host, "localhost", "127.0.0.1", "::1"].into_iter().filter(is_name);
    let mut params = CertificateParams::new(names.map(str::to_owned).collect::<Vec<_>>())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "gangline");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let since_1970 =
        |millis: i64| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_millis(millis.clamp(0, LAST_MS).unsigned_abs());
    params.not_before = since_1970(now.0.saturating_sub_unsigned(BEFORE_MS));
    params.not_after = since_1970(now.after(VALID_MS).0);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let der = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok(CertifiedKey::from_der(vec![certificate.der().clone()], der.into(), &provider())?)
}

#[cfg(test)]
mod tests;
