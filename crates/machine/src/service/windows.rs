//! What an owner of a Windows machine has to type, because nothing can be put in place by writing a file.
use super::Texts;

pub(super) const REMOVE: &str = "In PowerShell, as the same user:

    Stop-ScheduledTask -TaskName Gleaner
    Unregister-ScheduledTask -TaskName Gleaner -Confirm:$false
";

pub(super) fn render(service: &Texts<'_>) -> String {
    let arguments: Vec<_> = service.arguments.iter().map(|word| inner(word)).collect();
    format!(
        "In PowerShell, as the user whose machine it is (no administrator is needed):

    $action = New-ScheduledTaskAction -Execute {} -Argument {} -WorkingDirectory {}
    $when = New-ScheduledTaskTrigger -AtLogOn -User $env:USERNAME
    $how = New-ScheduledTaskSettingsSet -ExecutionTimeLimit 0 -RestartCount 5 -RestartInterval (New-TimeSpan -Minutes 1) -Priority 8
    Register-ScheduledTask -TaskName Gleaner -Action $action -Trigger $when -Settings $how
    Start-ScheduledTask -TaskName Gleaner
",
        literal(service.program),
        literal(&arguments.join(" ")),
        literal(service.dir),
    )
}

/// A literal of PowerShell.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A word of a Windows command line: backslashes count only before a quote.
fn inner(word: &str) -> String {
    let mut quoted = String::from('"');
    let mut backslashes = 0;
    for letter in word.chars() {
        match letter {
            '\\' => backslashes += 1,
            '"' => {
                quoted.extend(std::iter::repeat_n('\\', backslashes * 2 + 1));
                quoted.push('"');
                backslashes = 0;
            }
            other => {
                quoted.extend(std::iter::repeat_n('\\', backslashes));
                quoted.push(other);
                backslashes = 0;
            }
        }
    }
    quoted.extend(std::iter::repeat_n('\\', backslashes * 2));
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::inner;

    #[test]
    fn words_survive_a_windows_command_line() {
        assert_eq!(inner(r"C:\a b\"), r#""C:\a b\\""#);
        assert_eq!(inner(r#"say "hi""#), r#""say \"hi\"""#);
        assert_eq!(inner(r#"\""#), r#""\\\"""#);
    }
}
