//! An API server that answers as a test says: plain HTTP/1.1 on loopback, one thread per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gangline::runtime::client::scheduling;
use kube::Client;

/// A request as the server read it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// `POST /api/v1/…?…`.
    pub(crate) line: String,
    /// The header `Accept`.
    pub(crate) accept: String,
    /// The body.
    pub(crate) body: String,
    /// How many requests with the same line came before.
    pub(crate) before: usize,
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// Status, further header lines, body.
    Answer(u16, &'static str, Vec<u8>),
    /// A chunked answer of these lines, which stays open for a while and then ends.
    Stream(Vec<String>, Duration),
    /// The same of bytes, with further header lines.
    Bytes(&'static str, Vec<Vec<u8>>, Duration),
    /// Nothing, for this long.
    Silence(Duration),
    /// Exactly this, and the end of the connection.
    Cut(&'static str),
}

impl Reply {
    /// A JSON answer.
    pub(crate) fn json(status: u16, body: impl Into<String>) -> Self {
        Self::Answer(status, "", body.into().into_bytes())
    }
}

type Script = dyn Fn(&Asked) -> Reply + Send + Sync;

/// The server; it ends with the test's process.
pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Serves a script on a free port.
    pub(crate) fn start(script: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let server = Self {
            address: listener.local_addr().expect("a bound socket has an address"),
            asked: Arc::default(),
            connections: Arc::default(),
        };
        let (script, asked, connections): (Arc<Script>, _, _) =
            (Arc::new(script), Arc::clone(&server.asked), Arc::clone(&server.connections));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (script, asked) = (Arc::clone(&script), Arc::clone(&asked));
                thread::spawn(move || serve(&stream, &*script, &asked));
            }
        });
        server
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client of this server, set up as in production.
    pub(crate) fn client(&self) -> Client {
        client(self.address)
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test panics with it").clone()
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A client of an address where somebody may listen.
pub(crate) fn client(address: SocketAddr) -> Client {
    let mut config = kube::Config::new(format!("http://{address}").parse().expect("a URI"));
    // No TLS here: the machine's certificates are not needed.
    config.root_cert = Some(Vec::new());
    scheduling(config, |_| ()).expect("a client of a plain address")
}

fn serve(stream: &TcpStream, script: &Script, log: &Mutex<Vec<Asked>>) {
    let mut reader = BufReader::new(stream);
    while let Some(mut asked) = read(&mut reader) {
        {
            let mut log = log.lock().expect("no test panics with it");
            asked.before = log.iter().filter(|earlier| earlier.line == asked.line).count();
            log.push(asked.clone());
        }
        if answer(stream, script(&asked)).is_none() {
            return;
        }
    }
}

/// `None`: the connection is at its end.
fn answer(mut stream: &TcpStream, reply: Reply) -> Option<()> {
    match reply {
        Reply::Answer(status, headers, body) => {
            let length = body.len();
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}\r\n").ok()?;
            stream.write_all(&body).ok()
        }
        Reply::Stream(lines, open) => {
            let chunks = lines.into_iter().map(|line| format!("{line}\n").into_bytes()).collect();
            answer(stream, Reply::Bytes("", chunks, open))
        }
        Reply::Bytes(headers, chunks, open) => {
            write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{headers}\r\n").ok()?;
            for chunk in chunks {
                write!(stream, "{:x}\r\n", chunk.len()).ok()?;
                stream.write_all(&chunk).ok()?;
                write!(stream, "\r\n").ok()?;
            }
            thread::sleep(open);
            write!(stream, "0\r\n\r\n").ok()
        }
        Reply::Silence(time) => {
            thread::sleep(time);
            None
        }
        Reply::Cut(text) => {
            stream.write_all(text.as_bytes()).ok()?;
            None
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let header = |name| head.iter().find_map(|line| Some(line.to_lowercase().strip_prefix(name)?.trim().to_owned()));
    let length = header("content-length:").and_then(|length| length.parse().ok());
    let accept = header("accept:").unwrap_or_default();
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let line = head.first()?.trim_end_matches(" HTTP/1.1").to_owned();
    Some(Asked { line, accept, body: String::from_utf8(body).ok()?, before: 0 })
}
