//! Certificates of both origins, over real sockets and through their changes.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};

use kube::client::Body;
use kube::{Client, Config};
use tempfile::TempDir;

use super::*;
use crate::core::time::Mono;
use crate::runtime::http::tests::{Running, fetch_with, start_behind};

const DAY_MS: i64 = 24 * 3_600_000;

fn wall() -> Wall {
    crate::runtime::clock::Clock::start().now().wall
}

/// A certificate for this name and its key, as PEM.
fn pair(name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// Writes files as a Secret is mounted.
fn mount(directory: &TempDir, certificate: &str, key: &str) {
    fs::write(directory.path().join("tls.crt"), certificate).unwrap();
    fs::write(directory.path().join("tls.key"), key).unwrap();
}

fn given(directory: &TempDir) -> Result<Tls, TlsError> {
    Tls::new(&Certificate::Directory(directory.path().to_owned()), "host", wall)
}

async fn start(tls: Tls) -> Running {
    start_behind(|| Mono(0), None, Some(tls)).await
}

/// What a client hears of `/livez` that trusts this certificate and no other.
async fn get(address: SocketAddr, trusted: CertificateDer<'static>) -> Result<u16, kube::Error> {
    let mut config = Config::new(format!("https://{address}").parse().unwrap());
    config.root_cert = Some(vec![trusted.to_vec()]);
    let request = http::Request::get("/livez").body(Body::empty()).unwrap();
    Ok(Client::try_from(config)?.send(request).await?.status().as_u16())
}

#[tokio::test]
async fn a_certificate_of_our_own_is_for_this_host_and_whoever_knows_it_can_verify_it() {
    let tls = Tls::new(&Certificate::Own, "host-1", wall).unwrap();
    let own = tls.shown.current().cert[0].clone();
    let running = start(tls).await;
    assert_eq!(get(running.address, own).await.unwrap(), 200);
    let another = Tls::new(&Certificate::Own, "host-1", wall).unwrap();
    let another = another.shown.current().cert[0].clone();
    assert!(get(running.address, another).await.is_err());
    // Whatever a host is called.
    for host in ["", "größe", "-", "a b"] {
        assert!(Tls::new(&Certificate::Own, host, wall).is_ok(), "{host}");
    }
}

#[tokio::test]
async fn a_given_certificate_is_shown_and_followed_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = pair("127.0.0.1");
    mount(&directory, &certificate, &key);
    let mut tls = given(&directory).unwrap();
    let shown = Arc::clone(&tls.shown);
    assert!(!tls.look().await.unwrap());
    let (next, next_key) = pair("127.0.0.1");
    mount(&directory, &next, &next_key);
    assert!(tls.look().await.unwrap() && !tls.look().await.unwrap());
    let running = start(tls).await;
    let der = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    assert_eq!(shown.current().cert, [der(&next)]);
    assert_eq!(get(running.address, der(&next)).await.unwrap(), 200);
    assert!(get(running.address, der(&certificate)).await.is_err());
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_at_the_start_and_later_leaves_the_one_before() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(given(&directory), Err(TlsError::Read(path, _)) if path.ends_with("tls.crt")));
    let ((certificate, key), (_, another_key)) = (pair("a"), pair("a"));
    for (certificate, key, problem) in [
        ("", &*key, "tls.crt has no certificate"),
        ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", &*key, "tls.crt is no PEM file"),
        (&*certificate, "", "tls.key is no PEM file"),
        (&*certificate, &*certificate, "tls.key is no PEM file"),
        (&*certificate, &*another_key, "certificate and key of"),
    ] {
        mount(&directory, certificate, key);
        let said = given(&directory).err().map(|error| chain(&error)).unwrap_or_default();
        assert!(said.contains(problem), "{said} should say {problem}");
        assert!(!said.contains("PRIVATE"), "{said}");
    }
    mount(&directory, &certificate, &key);
    let mut tls = given(&directory).unwrap();
    let before = tls.shown.current();
    mount(&directory, &certificate, &another_key);
    assert!(matches!(tls.look().await, Err(TlsError::Pair(..))));
    fs::remove_file(directory.path().join("tls.key")).unwrap();
    assert!(matches!(tls.look().await, Err(TlsError::Read(..))));
    assert_eq!(tls.shown.current().cert, before.cert);
    // As it was: not another certificate, and no problem any more.
    mount(&directory, &certificate, &key);
    assert!(!tls.look().await.unwrap());
}

#[tokio::test]
async fn a_certificate_of_our_own_is_made_anew_long_before_it_expires() {
    static NOW: AtomicI64 = AtomicI64::new(0);
    let set = |days: i64| NOW.store(1_700_000_000_000 + days * DAY_MS, Ordering::Relaxed);
    set(0);
    let mut tls = Tls::new(&Certificate::Own, "host", || Wall(NOW.load(Ordering::Relaxed))).unwrap();
    let mut seen = vec![tls.shown.current().cert.clone()];
    // Days since the first one, and whether there is another one then; the last time the clock was set back.
    for (days, is_another) in [(1, false), (19, false), (20, true), (39, false), (40, true), (40, false), (2, true)] {
        set(days);
        assert_eq!(tls.look().await.unwrap(), is_another, "day {days}");
        let shown = tls.shown.current().cert.clone();
        assert_eq!(!seen.contains(&shown), is_another, "day {days}");
        seen.push(shown);
    }
    const { assert!(RENEW_MS + 7 * (DAY_MS as u64) < VALID_MS) };
    for now in [i64::MIN, 0, i64::MAX] {
        assert!(make("host", Wall(now)).is_ok(), "{now}");
    }
}

#[tokio::test]
async fn whoever_speaks_no_tls_is_told_and_nobody_holds_a_probe_up() {
    let tls = Tls::new(&Certificate::Own, "host", wall).unwrap();
    let own = tls.shown.current().cert[0].clone();
    let running = start(tls).await;
    let address = running.address;
    let answer = fetch_with(address, "/livez", "").await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("this port speaks HTTPS\n"), "{answer}");
    let long = format!("x: {}\r\n", "a".repeat(100_000));
    assert_eq!(fetch_with(address, "/livez", &long).await, answer);
    // Handshakes that begin and do not go on: more than there are places.
    let hold = move || {
        let half = |_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&[0x16, 3, 1]).unwrap();
            stream
        };
        (0..300).map(half).collect::<Vec<_>>()
    };
    let held = spawn_blocking(hold).await.unwrap();
    assert_eq!(get(address, own).await.unwrap(), 200);
    drop(held);
}
