//! A unit of the user's own systemd.
//!
//! The unit takes from the worker what it never needs. It leaves it user namespaces, which sandboxes are made of,
//! memory that is written and then run, which WebAssembly is compiled to, and the devices.
//!
//! Only the worker itself is ended, never the group around it: what it started ends with it by its own means, and the
//! watchdog that removes its containers has to be the last. With `mixed` it would be killed in the moment in which the
//! worker is; with `control-group` tasks would be asked to end before the worker knows why.
use super::{MARK, Texts, words};

pub(super) const NAME: &str = "gleaner.service";
pub(super) const WORDS: &str = "to share while nobody is logged in, too: loginctl enable-linger \"$USER\"";

pub(super) fn render(service: &Texts<'_>) -> String {
    let command: Vec<_> =
        std::iter::once(service.program).chain(service.arguments.iter().copied()).map(quote).collect();
    let variable = |(name, value): &(&str, &str)| {
        let text = format!("{name}={value}");
        format!("Environment=\"{}\"\n", escape(&text).replace('"', "\\\""))
    };
    let environment: String = service.environment.iter().map(variable).collect();
    format!(
        "# {MARK}
[Unit]
Description=Gleaner shares this machine's idle GPUs
Documentation=man:systemd.service(5)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=600
StartLimitBurst=5

[Service]
Type=exec
ExecStart={}
WorkingDirectory={}
{environment}Restart=on-failure
RestartSec=10
KillMode=process
Delegate=yes
TimeoutStopSec=15
Nice=10
CPUWeight=20
IOWeight=20
OOMScoreAdjust=500
UMask=0077
NoNewPrivileges=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
KeyringMode=private

[Install]
WantedBy=default.target
",
        command.join(" "),
        escape(service.dir).replace(' ', "\\x20"),
    )
}

/// A word of a command line. Percent and dollar signs would be replaced by systemd.
fn quote(word: &str) -> String {
    let mut quoted = String::from('"');
    for letter in escape(word).chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '$' => quoted.push_str("$$"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "%%")
}

pub(super) fn start() -> Vec<Vec<String>> {
    vec![words(&["systemctl", "--user", "daemon-reload"]), words(&["systemctl", "--user", "enable", "--now", NAME])]
}

pub(super) fn stop() -> Vec<Vec<String>> {
    vec![words(&["systemctl", "--user", "disable", "--now", NAME])]
}

pub(super) fn forget() -> Vec<Vec<String>> {
    vec![words(&["systemctl", "--user", "daemon-reload"])]
}
