//! Logging: text for people on a terminal, JSON for machines; nothing that a terminal would act on in either. A thread of
//! its own writes, so that nobody who logs waits for whoever reads.

mod queue;

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

use super::settings::{LogFormat, Settings};
use super::text::{escape, escape_json};
use queue::Queue;

/// The lines on their way to standard error, once logging has started.
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter's directives.
    #[error("log level")]
    Level(#[from] tracing_subscriber::filter::ParseError),
    /// A word of the filter that is no level.
    #[error("log level {0:?}: must be one of off, error, warn, info, debug, trace, or module=level")]
    Word(String),
    /// The thread that writes.
    #[error("starting the log's thread")]
    Thread(#[from] io::Error),
    /// Somebody else set it up before.
    #[error("logging was set up twice")]
    Twice(#[from] tracing_subscriber::util::TryInitError),
}

/// Starts logging to standard error.
///
/// # Errors
/// A level that [`Settings::load`] would have refused, a second call, or no thread.
pub fn start(settings: &Settings) -> Result<(), TelemetryError> {
    let filter = filter(&settings.log_level)?;
    let json = match settings.log_format {
        LogFormat::Auto => !io::stderr().is_terminal(),
        LogFormat::Text => false,
        LogFormat::Json => true,
    };
    let queue = Queue::start(io::stderr())?;
    QUEUE.get_or_init(|| queue);
    subscriber(json, filter, || ToQueue).try_init()?;
    // A panic is one line of the log like any other, so that whoever collects JSON sees it.
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "Panicked: a fault of Gangline's own")));
    Ok(())
}

/// Waits until what was logged is written, for a moment at most.
pub fn flush() {
    if let Some(queue) = QUEUE.get() {
        queue.flush();
    }
}

/// Gives lines to the queue.
struct ToQueue;

impl Write for ToQueue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(queue) = QUEUE.get() {
            queue.push(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Libraries that log every failure of a request or watch again, at ERROR and WARN.
const TALKATIVE: [&str; 2] = ["kube_client", "kube_runtime"];

/// The filter for a level. We report failures ourselves, once and where somebody should act, so these libraries are off
/// unless they are named.
fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    // A bare word that is no level would be the name of a module, and silence everything else.
    for word in level.split(',').filter(|word| !word.contains('=')) {
        word.trim()
            .parse::<tracing_subscriber::filter::LevelFilter>()
            .map_err(|_| TelemetryError::Word(word.into()))?;
    }
    let filter = EnvFilter::builder().parse(level)?;
    let unnamed = TALKATIVE.iter().filter(|library| !level.contains(**library));
    unnamed
        .map(|library| format!("{library}=off").parse())
        .try_fold(filter, |filter, directive| Ok(filter.add_directive(directive?)))
}

type Subscriber = Box<dyn tracing::Subscriber + Send + Sync>;

/// The subscriber that writes lines of one form to where `sink` says.
fn subscriber<W: Write + 'static>(json: bool, filter: EnvFilter, sink: fn() -> W) -> Subscriber {
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Lines { json, sink });
    if json {
        Box::new(lines.json().flatten_event(true).with_current_span(false).finish())
    } else {
        Box::new(lines.finish())
    }
}

/// Makes one [`Line`] per log event.
struct Lines<W> {
    json: bool,
    sink: fn() -> W,
}

impl<'a, W: Write + 'a> MakeWriter<'a> for Lines<W> {
    type Writer = Line<W>;

    fn make_writer(&'a self) -> Line<W> {
        Line { json: self.json, text: Vec::new(), sink: self.sink }
    }
}

/// One line of the log. It is written whole when it is dropped, escaped but for its own end: a message with a line end
/// in it must not look like two.
struct Line<W: Write> {
    json: bool,
    text: Vec<u8>,
    sink: fn() -> W,
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Line<W> {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let safe = if self.json { escape_json(text) } else { escape(text) };
        // There is nowhere to report that the log itself cannot be written.
        drop((self.sink)().write_all(format!("{safe}\n").as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local!(static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });

    struct Test;

    impl Write for Test {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            OUTPUT.with_borrow_mut(|output| output.write(bytes))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log(json: bool, level: &str, event: impl Fn()) -> String {
        let subscriber = subscriber(json, filter(level).unwrap(), || Test);
        tracing::subscriber::with_default(subscriber, event);
        String::from_utf8(OUTPUT.take()).unwrap()
    }

    const EVIL: &str = "a\nb\x1b[31m\u{9b}2J\u{202e}";

    #[test]
    fn a_word_that_is_no_level_is_refused() {
        for (level, taken) in [("info", true), ("info,gangline=debug", true), ("off", true), ("wran", false)] {
            assert_eq!(filter(level).is_ok(), taken, "{level}");
        }
        let refused = filter("info,gangline").unwrap_err().to_string();
        assert!(refused.starts_with("log level \"gangline\": must be one of"), "{refused}");
    }

    #[test]
    fn text_keeps_one_event_on_one_harmless_line() {
        let line = log(false, "info", || tracing::info!(pod = EVIL, shown = %EVIL, "Saw {EVIL}"));
        let inner = line.strip_suffix('\n').unwrap();
        assert!(!inner.contains(super::super::text::is_unsafe), "{line}");
        assert!(inner.contains("Saw a\\nb"), "{line}");
    }

    #[test]
    fn json_says_exactly_what_was_logged_without_raw_control_characters() {
        let line = log(true, "info", || tracing::info!(pod = EVIL, "Saw {EVIL}"));
        let inner = line.strip_suffix('\n').unwrap();
        assert!(!inner.contains(super::super::text::is_unsafe), "{line}");
        let value: serde_json::Value = serde_json::from_str(inner).unwrap();
        assert_eq!(value["pod"], EVIL);
        assert_eq!(value["level"], "INFO");
    }

    #[test]
    fn the_level_decides_per_module() {
        let event = || tracing::debug!("fine");
        assert_eq!(log(false, "info", event), "");
        assert_ne!(log(false, "info,gangline=debug", event), "");
        let noise = || {
            tracing::error!(target: "kube_client::client::builder", "failed");
            tracing::warn!(target: "kube_runtime::watcher", "failed");
        };
        assert_eq!(log(false, "info", noise), "");
        assert_eq!(log(false, "info,kube_client=error", noise).lines().count(), 1);
        assert_eq!(log(false, "info,kube_runtime=warn", noise).lines().count(), 1);
    }
}
