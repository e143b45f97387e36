//! The built program as a process, with nobody to talk to: how it ends, and what may not hold it up.

use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::scripted::{Reply, Server};

/// Far longer than any of it takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn gangline() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gangline"));
    command.env_clear().stdin(Stdio::null());
    command
}

/// A scheduler whose API server is not there; killed when dropped.
struct Running {
    child: Child,
    address: SocketAddr,
    _kubeconfig: tempfile::NamedTempFile,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, mostly.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nobodys_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound socket has an address")
}

fn run(log: impl Into<Stdio>) -> Running {
    run_as("{}", log)
}

/// As this user of a kubeconfig.
fn run_as(user: &str, log: impl Into<Stdio>) -> Running {
    run_against(nobodys_address(), user, log)
}

/// Whose API server is at this address.
fn run_against(server: SocketAddr, user: &str, log: impl Into<Stdio>) -> Running {
    let kubeconfig = tempfile::NamedTempFile::new().expect("a temporary file");
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, users: [{{name: u, user: {user}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}], \
         clusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]}}"
    );
    std::fs::write(kubeconfig.path(), text).expect("it can be written");
    let address = nobodys_address();
    let mut command = gangline();
    command.arg("run").arg("--kubeconfig").arg(kubeconfig.path()).args(["--http", &address.to_string()]);
    let child = command.stderr(log).spawn().expect("it starts");
    Running { child, address, _kubeconfig: kubeconfig }
}

impl Running {
    /// The answer to a request, once somebody listens.
    fn get(&self, path: &str) -> String {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Ok(mut stream) = TcpStream::connect(self.address) {
                stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("it listens");
                let mut answer = String::new();
                stream.read_to_string(&mut answer).expect("it answers");
                return answer;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nobody listens");
    }

    /// Sends SIGTERM and waits; how it ended and how long that took.
    fn terminate(&mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        while began.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                return (status, began.elapsed());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it does not end");
    }
}

#[test]
fn half_a_request_does_not_hold_up_its_end() {
    let mut running = run(Stdio::null());
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 "));
    let mut half = TcpStream::connect(running.address).expect("it listens");
    half.write_all(b"GET /livez HTTP/1.1\r\n").expect("it listens");
    // The one before it is accepted by then.
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 "));
    let (status, took) = running.terminate();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_millis(1_500), "{took:?}");
}

/// A pipe into which not one byte more fits.
fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // What Linux gives a pipe.
    writer.write_all(&[b'x'; 65_536]).expect("it fits");
    (reader, writer.into())
}

#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    let (_reader, log) = full_pipe();
    let mut running = run(log);
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 "));
    let (status, took) = running.terminate();
    assert!(status.success(), "{status}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn the_last_words_are_written() {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut running = run(writer);
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 "));
    running.terminate();
    let mut log = String::new();
    reader.read_to_string(&mut log).expect("text");
    assert!(log.contains("\"Started\"") && log.trim_end().ends_with('}'), "{log}");
    assert!(log.lines().last().is_some_and(|line| line.contains("\"Ended\"")), "{log}");
    // The missing API server is one fact, not one line a try.
    assert!(!log.contains("kube_runtime"), "{log}");
}

/// Whatever the scheduler's own thread hangs in, here a login that takes its time, there are answers and an end.
#[test]
fn what_hangs_is_ended_by_a_second_signal() {
    const LOGIN: &str = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sleep, args: ['15'], \
                         interactiveMode: Never}}";
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut running = run_as(LOGIN, writer);
    assert!(running.get("/livez").starts_with("HTTP/1.1 200 "));
    kill_process(Pid::from_child(&running.child), Signal::TERM).expect("it runs");
    let (mut log, mut byte) = (Vec::new(), [0]);
    while !log.ends_with(b"another signal ends at once") {
        reader.read_exact(&mut byte).expect("it says so");
        log.extend(byte);
    }
    let (status, took) = running.terminate();
    assert_eq!(status.code(), Some(143));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// An address with a typo may be somebody else's. No kind of ours is missing there, and nothing has been read.
#[test]
fn what_is_no_api_server_is_called_so() {
    let server = Server::start(|_| Reply::json(404, "404 page not found"));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let running = run_against(server.address(), "{}", writer);
    let said = BufReader::new(reader).lines().map(|line| line.expect("text"));
    let warned =
        said.into_iter().find(|line| line.contains("is no API server")).expect("it goes on until it is killed");
    assert!(warned.contains("\"WARN\"") && warned.contains("list pods"), "{warned}");
    let ready = running.get("/readyz");
    assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("not listed yet: pods, nodes"), "{ready}");
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = gangline().arg("crds").stdout(full).output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the answer"), "{output:?}");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let gone = gangline().arg("crds").stdout(writer).output().expect("it starts");
    assert!(gone.status.success() && gone.stderr.is_empty(), "{gone:?}");
}
