//! How a process that serves says what it does: lines on stderr for people or for programs, and spans for a collector.
use std::fmt;

use tracing_subscriber::EnvFilter;

/// What people are told goes to the log only where that is read by programs; see [`crate::output::say`].
pub const SAID: &str = "said";

/// Options of processes that serve.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Send spans of jobs to this OpenTelemetry collector, by OTLP over HTTP, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env = true)]
    otlp: Option<String>,
    /// How lines on stderr are written
    #[arg(long, value_name = "HOW", default_value_t, value_enum)]
    log_format: LogFormat,
}

/// How lines of the log are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// A JSON object on each line
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

impl Args {
    /// How lines are written.
    pub fn log_format(&self) -> LogFormat {
        self.log_format
    }

    /// Where spans go, if anywhere. An empty address in the environment is none.
    pub fn traces(&self) -> Option<gleaner_trace::Config> {
        let endpoint = self.otlp.clone().filter(|endpoint| !endpoint.is_empty());
        endpoint.map(|endpoint| gleaner_trace::Config { endpoint })
    }

    /// The same for a process that is started by this one.
    pub fn options(&self) -> Vec<String> {
        let otlp = self.traces().map(|traces| ["--otlp".to_owned(), traces.endpoint]);
        let format = ["--log-format".to_owned(), self.log_format.to_string()];
        otlp.into_iter().flatten().chain(format).collect()
    }
}

/// Starts the log: what `GLEANER_LOG` asks for, or as much as the command line does.
pub fn start_log(verbose: u8, format: LogFormat) {
    let level = match verbose {
        // A machine that serves until its command ends has nothing to say about that; and what was wrong with a certificate
        // is in the error.
        0 => "warn,iroh::socket=off,rustls_platform_verifier=off",
        1 => "info",
        2.. => "debug",
    };
    let asked = std::env::var("GLEANER_LOG").ok().filter(|asked| EnvFilter::try_new(asked).is_ok());
    let asked = asked.unwrap_or_else(|| level.to_owned());
    let log = |said: &str| {
        let filter = EnvFilter::new(format!("{asked},{SAID}={said}"));
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr)
    };
    match format {
        LogFormat::Text => log("off").with_ansi(console::colors_enabled_stderr()).init(),
        LogFormat::Json => log("info").json().flatten_event(true).with_span_list(false).init(),
    }
}
