//! Accepts whoever comes, and sends the oldest connection of the greediest peer away for it: whoever holds connections
//! on purpose keeps nobody out, least of all the kubelet's probes. How long a request may take to come is hyper's matter,
//! how a handshake is made rustls'. Which connection has to go is decided here, since a limit on their number alone would
//! let one peer take all of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::runtime::shell::Shutdown;

/// Two probes and a scrape need three; the rest is for people.
const CONNECTIONS: usize = 128;
/// With those that were sent away and have not ended yet. Far below the usual limit of 1024 open files.
const OPEN: usize = 2 * CONNECTIONS;
/// A request is one packet, and a handshake two; whoever takes longer to send it has no request.
const HEAD: Duration = Duration::from_secs(2);
/// A connection serves one request, which has 8 s.
const LIFE: Duration = Duration::from_secs(10);

/// A server whose connections are bounded in number and time.
pub(super) struct Bounded {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    open: Arc<Semaphore>,
    crowd: Arc<Crowd>,
    head: Duration,
    life: Duration,
}

impl Bounded {
    pub(super) fn new(listener: TcpListener, tls: Option<TlsAcceptor>) -> Self {
        Self { listener, tls, open: Arc::new(Semaphore::new(OPEN)), crowd: Arc::default(), head: HEAD, life: LIFE }
    }

    /// Serves until the end is ordered and the requests in flight are answered.
    pub(super) async fn serve(mut self, router: Router, mut end: Shutdown) {
        let connections = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.head);
        while let Some((stream, place)) = self.next(&mut end).await {
            let service = TowerToHyperService::new(router.clone());
            let talk = Talk { http: http.clone(), service, watcher: connections.watcher() };
            tokio::spawn(place.hold(talk.with(stream, self.tls.clone(), self.head), self.life));
        }
        drop(self.listener);
        connections.shutdown().await;
    }

    /// The next connection and its place; none once the end is ordered.
    async fn next(&mut self, end: &mut Shutdown) -> Option<(TcpStream, Spot)> {
        tokio::select! {
            accepted = self.accept() => Some(accepted),
            () = end.ordered() => None,
        }
    }

    async fn accept(&mut self) -> (TcpStream, Spot) {
        // The semaphore is never closed, so that the permit is always there.
        let permit = Arc::clone(&self.open).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (stream, Crowd::enter(&self.crowd, address.ip(), permit))
    }
}

/// One connection's conversation.
struct Talk {
    http: http1::Builder,
    service: TowerToHyperService<Router>,
    watcher: Watcher,
}

impl Talk {
    /// How it ends is known to whoever asked, and nobody else can do anything about it.
    async fn with(self, stream: TcpStream, tls: Option<TlsAcceptor>, patience: Duration) {
        let Some(tls) = tls else { return self.over(stream).await };
        if let Ok(Ok(Some(stream))) = timeout(patience, handshake(stream, &tls)).await {
            self.over(stream).await;
        }
    }

    async fn over(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        drop(self.watcher.watch(self.http.serve_connection(TokioIo::new(stream), self.service)).await);
    }
}

/// The first byte of whoever begins a handshake.
const HANDSHAKE: u8 = 0x16;
/// For whoever does not.
const SPEAKS_HTTPS: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n\
    this port speaks HTTPS\n";

/// The stream inside TLS; none if the other side does not speak it, which is told so.
async fn handshake(mut stream: TcpStream, tls: &TlsAcceptor) -> io::Result<Option<TlsStream<TcpStream>>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 || first == [HANDSHAKE] {
        return tls.accept(stream).await.map(Some);
    }
    stream.write_all(SPEAKS_HTTPS).await?;
    stream.shutdown().await?;
    // A connection that is closed with a request unread is reset, and the answer with it.
    while stream.read(&mut [0; 4096]).await? > 0 {}
    Ok(None)
}

/// Who is connected, oldest first.
#[derive(Default)]
struct Crowd(Mutex<Guests>);

#[derive(Default)]
struct Guests {
    next: u64,
    present: BTreeMap<u64, Guest>,
}

struct Guest {
    peer: IpAddr,
    /// Its connection ends when this is dropped.
    _stay: Sender<Infallible>,
}

impl Crowd {
    fn enter(crowd: &Arc<Self>, peer: IpAddr, permit: Option<OwnedSemaphorePermit>) -> Spot {
        let (stay, sent_away) = channel();
        let mut guests = crowd.guests();
        if guests.present.len() >= CONNECTIONS {
            guests.make_room();
        }
        let number = guests.next;
        guests.next += 1;
        guests.present.insert(number, Guest { peer, _stay: stay });
        drop(guests);
        Spot { crowd: Arc::clone(crowd), number, sent_away, _permit: permit }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guests {
    /// Sends the oldest of the peer away that has most: a probe is young and alone.
    fn make_room(&mut self) {
        let mut of_peer: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.present.values().for_each(|guest| *of_peer.entry(guest.peer).or_default() += 1);
        let oldest = self.present.iter().min_by_key(|(_, guest)| Reverse(of_peer.get(&guest.peer)));
        if let Some(number) = oldest.map(|(number, _)| *number) {
            self.present.remove(&number);
        }
    }
}

/// One connection's place in the crowd; free again when this is dropped.
struct Spot {
    crowd: Arc<Crowd>,
    number: u64,
    sent_away: Receiver<Infallible>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Spot {
    /// Keeps a connection until it ends by itself, its time is over or its place is wanted.
    async fn hold(mut self, connection: impl Future, life: Duration) {
        tokio::select! {
            // Whoever asked knows how it ended, and nobody else can do anything about it.
            _ = timeout(life, connection) => {}
            _ = &mut self.sent_away => {}
        }
    }
}

impl Drop for Spot {
    fn drop(&mut self) {
        self.crowd.guests().present.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::SocketAddr;
    use std::time::Instant;

    use axum::routing::get;
    use tokio::sync::watch;

    use super::*;

    /// A server of one page that never comes.
    struct Running {
        address: SocketAddr,
        open: Arc<Semaphore>,
        crowd: Arc<Crowd>,
        _end: watch::Sender<bool>,
    }

    async fn start(head: Duration, life: Duration) -> Running {
        let mut bounded = Bounded::new(TcpListener::bind("127.0.0.1:0").await.unwrap(), None);
        (bounded.head, bounded.life) = (head, life);
        let (open, crowd) = (Arc::clone(&bounded.open), Arc::clone(&bounded.crowd));
        let (address, (_end, shutdown)) = (bounded.listener.local_addr().unwrap(), Shutdown::new());
        let router = Router::new().route("/", get(std::future::pending::<()>));
        tokio::spawn(bounded.serve(router, shutdown));
        Running { address, open, crowd, _end }
    }

    /// How long a connection is kept that says this and no more.
    async fn kept(address: SocketAddr, said: &'static str) -> Duration {
        let wait = move || {
            let began = Instant::now();
            let mut stream = connected(address);
            stream.write_all(said.as_bytes()).unwrap();
            assert!(ends(stream), "{said:?} is kept for ever");
            began.elapsed()
        };
        tokio::task::spawn_blocking(wait).await.unwrap()
    }

    fn connected(address: SocketAddr) -> std::net::TcpStream {
        let stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    /// It may be reset as well as closed.
    fn ends(mut stream: std::net::TcpStream) -> bool {
        let end = stream.read_to_end(&mut Vec::new());
        end.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
    }

    /// Far beyond any patience below.
    const SOON: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test]
    async fn a_connection_without_a_request_ends_and_leaves_its_place() {
        let running = start(SHORT, LONG).await;
        for said in ["", "GET / HTTP/1.1\r\n"] {
            kept(running.address, said).await;
        }
        // One is for whoever comes next.
        let all = running.open.acquire_many(u32::try_from(OPEN - 1).unwrap()).await;
        assert!(all.is_ok() && running.crowd.guests().present.is_empty());
    }

    #[tokio::test]
    async fn a_connection_that_asked_has_its_whole_time_and_no_more() {
        let life = Duration::from_millis(40);
        let running = start(SHORT, life).await;
        assert!(kept(running.address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await >= life);
    }

    #[tokio::test]
    async fn a_connection_whose_place_is_wanted_ends() {
        let running = start(LONG, LONG).await;
        let address = running.address;
        let wait = move || {
            let first = connected(address);
            let _others: Vec<_> = (0..CONNECTIONS).map(|_| connected(address)).collect();
            ends(first)
        };
        assert!(tokio::task::spawn_blocking(wait).await.unwrap());
    }

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn the_oldest_of_the_greediest_goes_when_all_places_are_taken() {
        let crowd = Arc::<Crowd>::default();
        let probe = Crowd::enter(&crowd, peer(1), None);
        let mut greedy: Vec<Spot> = (1..CONNECTIONS).map(|_| Crowd::enter(&crowd, peer(2), None)).collect();
        assert!(greedy.iter_mut().all(stays));
        let next = Crowd::enter(&crowd, peer(3), None);
        assert_eq!(crowd.guests().present.len(), CONNECTIONS);
        let gone: Vec<_> = greedy.iter_mut().map(|place| !stays(place)).collect();
        assert_eq!((gone[0], gone.iter().filter(|gone| **gone).count()), (true, 1));
        assert!([probe, next].iter_mut().all(stays));
        drop(greedy);
        assert!(crowd.guests().present.is_empty());
    }

    fn stays(place: &mut Spot) -> bool {
        place.sent_away.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
    }
}
