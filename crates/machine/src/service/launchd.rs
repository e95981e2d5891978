//! An agent of the user on macOS.
use std::path::Path;

use super::{MARK, Texts, words};

pub(super) const NAME: &str = "network.gleaner.share.plist";
const LABEL: &str = "network.gleaner.share";

pub(super) fn render(service: &Texts<'_>) -> String {
    let word = |text: &str| format!("        <string>{}</string>\n", escape(text));
    let command: String = std::iter::once(service.program).chain(service.arguments.iter().copied()).map(word).collect();
    let dir = escape(service.dir);
    let environment = environment(&service.environment);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<!-- {MARK} -->
<plist version=\"1.0\">
<dict>
    <key>Label</key>
    <string>{LABEL}</string>
    <key>ProgramArguments</key>
    <array>
{command}    </array>
    <key>WorkingDirectory</key>
    <string>{dir}</string>
{environment}    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>ThrottleInterval</key>
    <integer>10</integer>
    <key>ProcessType</key>
    <string>Background</string>
    <key>LowPriorityIO</key>
    <true/>
    <key>Nice</key>
    <integer>10</integer>
    <key>Umask</key>
    <integer>63</integer>
    <key>StandardErrorPath</key>
    <string>{dir}/share.log</string>
</dict>
</plist>
"
    )
}

fn environment(variables: &[(&str, &str)]) -> String {
    if variables.is_empty() {
        return String::new();
    }
    let variable = |(name, value): &(&str, &str)| {
        format!("        <key>{}</key>\n        <string>{}</string>\n", escape(name), escape(value))
    };
    let all: String = variables.iter().map(variable).collect();
    format!("    <key>EnvironmentVariables</key>\n    <dict>\n{all}    </dict>\n")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(super) fn start(path: &Path) -> Vec<Vec<String>> {
    vec![words(&["launchctl", "load", "-w", &path.display().to_string()])]
}

pub(super) fn stop() -> Vec<Vec<String>> {
    vec![words(&["launchctl", "remove", LABEL])]
}
