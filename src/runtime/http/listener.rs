//! Accepts whoever comes, and sends the oldest connection of the greediest peer away for it: whoever holds connections
//! on purpose keeps nobody out, least of all the kubelet's probes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

/// Two probes and a scrape need three; the rest is for people.
const CONNECTIONS: usize = 128;
/// With those that were sent away and have not ended yet. Far below the usual limit of 1024 open files.
const OPEN: usize = 2 * CONNECTIONS;
/// A request is one packet; whoever takes longer to send it has no request.
const HEAD: Duration = Duration::from_secs(2);
/// A connection serves one request, which has 8 s.
const LIFE: Duration = Duration::from_secs(10);

/// A listener whose connections are bounded in number and time.
pub(super) struct Bounded {
    listener: TcpListener,
    open: Arc<Semaphore>,
    crowd: Arc<Crowd>,
    head: Duration,
    life: Duration,
}

impl Bounded {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, open: Arc::new(Semaphore::new(OPEN)), crowd: Arc::default(), head: HEAD, life: LIFE }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // The semaphore is never closed, so that the permit is always there.
        let permit = Arc::clone(&self.open).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let now = Instant::now();
        let connection = Connection {
            stream,
            place: Crowd::enter(&self.crowd, address.ip()),
            end: Box::pin(sleep_until(now + self.head)),
            last: now + self.life,
            asked: Asked::default(),
            _permit: permit,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
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
    fn enter(crowd: &Arc<Self>, peer: IpAddr) -> Place {
        let (stay, sent_away) = channel();
        let mut guests = crowd.guests();
        if guests.present.len() >= CONNECTIONS {
            guests.make_room();
        }
        let number = guests.next;
        guests.next += 1;
        guests.present.insert(number, Guest { peer, _stay: stay });
        drop(guests);
        Place { crowd: Arc::clone(crowd), number, sent_away }
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
struct Place {
    crowd: Arc<Crowd>,
    number: u64,
    sent_away: Receiver<Infallible>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crowd.guests().present.remove(&self.number);
    }
}

/// Whether a connection's request has come; told by whoever answers it.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked(Arc<AtomicBool>);

impl Asked {
    pub(super) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Bounded>> for Asked {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Self {
        stream.io().asked.clone()
    }
}

/// A connection that fails when its time is over or its place is wanted.
pub(super) struct Connection {
    stream: TcpStream,
    place: Place,
    end: Pin<Box<Sleep>>,
    /// When it ends though its request has come.
    last: Instant,
    asked: Asked,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn alive(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        if Pin::new(&mut self.place.sent_away).poll(cx).is_ready() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        while self.end.as_mut().poll(cx).is_ready() {
            if self.end.deadline() >= self.last || !self.asked.0.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.end.as_mut().reset(self.last);
        }
        Ok(())
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.alive(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.alive(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.alive(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(connection: &mut Connection) -> io::Result<()> {
        let mut bytes = [0; 1];
        let mut buffer = ReadBuf::new(&mut bytes);
        std::future::poll_fn(|cx| Pin::new(&mut *connection).poll_read(cx, &mut buffer)).await
    }

    #[tokio::test]
    async fn a_connection_that_says_nothing_ends_and_leaves_its_place() {
        let mut bounded = Bounded::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        bounded.head = Duration::from_millis(1);
        let silent = TcpStream::connect(bounded.local_addr().unwrap()).await.unwrap();
        let (mut connection, _) = bounded.accept().await;
        assert_eq!(bounded.open.available_permits(), OPEN - 1);
        assert_eq!(read(&mut connection).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop((connection, silent));
        assert_eq!(bounded.open.available_permits(), OPEN);
        assert!(bounded.crowd.guests().present.is_empty());
    }

    #[tokio::test]
    async fn a_connection_that_asked_has_its_whole_time() {
        let mut bounded = Bounded::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        (bounded.head, bounded.life) = (Duration::from_millis(1), Duration::from_millis(40));
        let _peer = TcpStream::connect(bounded.local_addr().unwrap()).await.unwrap();
        let (mut connection, _) = bounded.accept().await;
        connection.asked.note();
        let began = Instant::now();
        assert_eq!(read(&mut connection).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() >= Duration::from_millis(30), "{:?}", began.elapsed());
    }

    fn peer(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn the_oldest_of_the_greediest_goes_when_all_places_are_taken() {
        let crowd = Arc::<Crowd>::default();
        let probe = Crowd::enter(&crowd, peer(1));
        let mut greedy: Vec<Place> = (1..CONNECTIONS).map(|_| Crowd::enter(&crowd, peer(2))).collect();
        assert!(greedy.iter_mut().all(stays));
        let next = Crowd::enter(&crowd, peer(3));
        assert_eq!(crowd.guests().present.len(), CONNECTIONS);
        let gone: Vec<_> = greedy.iter_mut().map(|place| !stays(place)).collect();
        assert_eq!((gone[0], gone.iter().filter(|gone| **gone).count()), (true, 1));
        assert!([probe, next].iter_mut().all(stays));
        drop(greedy);
        assert!(crowd.guests().present.is_empty());
    }

    fn stays(place: &mut Place) -> bool {
        place.sent_away.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty)
    }
}
