//! Accepts a bounded number of connections that live for a bounded time: whoever is slow on purpose holds nothing.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Two probes and a scrape need three; the rest is for people. Far below the usual limit of 1024 open files.
const CONNECTIONS: usize = 128;
/// A connection serves one request, which has 8 s; the rest is for sending it.
const LIFE: Duration = Duration::from_secs(10);

/// A listener whose connections are bounded in number and time.
pub(super) struct Bounded {
    listener: TcpListener,
    free: Arc<Semaphore>,
    life: Duration,
}

impl Bounded {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(CONNECTIONS)), life: LIFE }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // The semaphore is never closed, so that the permit is always there.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Connection { stream, end: Box::pin(sleep(self.life)), _permit: permit }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when its time is over.
pub(super) struct Connection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    fn alive(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.end.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
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

    #[tokio::test]
    async fn a_connection_that_says_nothing_ends() {
        let mut bounded = Bounded::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        bounded.life = Duration::from_millis(1);
        let silent = TcpStream::connect(bounded.local_addr().unwrap()).await.unwrap();
        let (mut connection, _) = bounded.accept().await;
        assert_eq!(bounded.free.available_permits(), CONNECTIONS - 1);
        let mut bytes = [0; 1];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = std::future::poll_fn(|cx| Pin::new(&mut connection).poll_read(cx, &mut buffer));
        let error = read.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop((connection, silent));
        assert_eq!(bounded.free.available_permits(), CONNECTIONS);
    }
}
