//! Lines on their way to where they are written: bounded, and what finds it full is counted, never waited for.
//!
//! It is not tracing-appender's writer, since that one ends, where its queue is full, by printing to standard output with no
//! bound on how long that takes: a process whose output nobody reads would not end when it is told to.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Lines that may wait: about a megabyte. Whoever reads so slowly has a pipe that is full as well.
const WAITING: usize = 4_096;
/// How long the end of the process waits for its last lines.
const LAST_LINES: Duration = Duration::from_millis(500);

enum Message {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Flush(Sender<()>),
}

/// The way to the thread that writes.
pub(super) struct Queue {
    messages: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

impl Queue {
    /// Starts the thread.
    pub(super) fn start(sink: impl Write + Send + 'static) -> io::Result<Self> {
        let (messages, received) = sync_channel(WAITING);
        let dropped = Arc::<AtomicU64>::default();
        let lost = Arc::clone(&dropped);
        thread::Builder::new().name("log".to_owned()).spawn(move || write(&received, sink, &lost))?;
        Ok(Self { messages, dropped })
    }

    /// Hands a line over, or counts it.
    pub(super) fn push(&self, line: &[u8]) {
        if self.messages.try_send(Message::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits a moment for what was handed over.
    pub(super) fn flush(&self) {
        let (done, written) = channel();
        if self.messages.try_send(Message::Flush(done)).is_ok() {
            // Too late is no error: whoever reads does not.
            let _ = written.recv_timeout(LAST_LINES);
        }
    }
}

/// The thread's work, until nobody can hand anything over.
fn write(received: &Receiver<Message>, mut sink: impl Write, dropped: &AtomicU64) {
    loop {
        let message = match received.try_recv() {
            Ok(message) => message,
            Err(TryRecvError::Disconnected) => return,
            Err(TryRecvError::Empty) => {
                say_dropped(dropped);
                let Ok(message) = received.recv() else { return };
                message
            }
        };
        match message {
            // There is nowhere to report that the log itself cannot be written.
            Message::Line(line) => drop(sink.write_all(&line)),
            // Whoever waited may have given up.
            Message::Flush(done) => drop(done.send(())),
        }
    }
}

/// Said when there is room for it again.
fn say_dropped(dropped: &AtomicU64) {
    let lines = dropped.swap(0, Ordering::Relaxed);
    if lines > 0 {
        tracing::warn!(lines, "Lines of the log were dropped: whoever reads it is too slow");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sink that takes a line when it is told to, and tells of each.
    struct Slow {
        go: Receiver<()>,
        written: Sender<Vec<u8>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.go.recv().map_err(io::Error::other)?;
            self.written.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_who_does_not_read_holds_nobody_up() {
        let ((go, wait), (written, lines)) = (channel(), channel());
        let queue = Queue::start(Slow { go: wait, written }).unwrap();
        // One may be in the thread's hands already.
        let pushed = WAITING + 1 + 7;
        (0..pushed).for_each(|number| queue.push(format!("{number}\n").as_bytes()));
        let dropped = usize::try_from(queue.dropped.load(Ordering::Relaxed)).unwrap();
        assert!((7..=8).contains(&dropped), "{dropped}");
        queue.flush();
        (0..pushed - dropped).for_each(|_| go.send(()).unwrap());
        let all: Vec<Vec<u8>> = (0..pushed - dropped).map(|_| lines.recv().unwrap()).collect();
        assert_eq!((&*all[0], &*all[WAITING - 1]), (&b"0\n"[..], format!("{}\n", WAITING - 1).as_bytes()));
    }

    #[test]
    fn a_flush_waits_for_what_came_before() {
        let ((go, wait), (written, lines)) = (channel(), channel());
        let queue = Queue::start(Slow { go: wait, written }).unwrap();
        queue.push(b"last words\n");
        go.send(()).unwrap();
        queue.flush();
        assert_eq!(lines.try_recv().unwrap(), b"last words\n");
    }
}
