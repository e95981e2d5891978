//! Services as their systems read them.
use std::path::{Path, PathBuf};
use std::process::Command;

use gleaner_machine::service::{Error, Platform, Service};

fn service() -> Service {
    Service {
        program: PathBuf::from("/opt/my programs/gleaner"),
        arguments: ["share", "--hub", "http://hub:1/?a=1&b=100%", "--name", "Ann's \"box\" $HOME \\ x"]
            .map(str::to_owned)
            .into(),
        dir: PathBuf::from("/tmp"),
        environment: vec![("DOCKER_HOST".to_owned(), "unix:///run/my \"own\" 100%/$x.sock".to_owned())],
    }
}

#[test]
fn installing_and_removing_leaves_nothing_behind() {
    for platform in [Platform::Systemd, Platform::Launchd] {
        let home = tempfile::tempdir().expect("a folder");
        let path = platform.file(home.path()).expect("it has a file");
        let done = platform.install(home.path(), &service()).expect("installed");
        assert_eq!(done.file.as_ref(), Some(&path));
        assert!(!done.commands.is_empty());
        platform.install(home.path(), &service()).expect("installing twice is installing once");
        assert_eq!(std::fs::read_dir(path.parent().expect("a folder")).expect("it is there").count(), 1);
        assert!(!platform.stop(home.path()).expect("ours").is_empty());
        let removed = platform.uninstall(home.path()).expect("removed");
        assert_eq!(removed.file.as_ref(), Some(&path));
        assert!(!path.exists());
        assert!(platform.stop(home.path()).expect("nothing to stop").is_empty());
        assert_eq!(platform.uninstall(home.path()).expect("nothing to do").file, None);
    }
}

#[test]
fn somebody_else_s_file_is_left_alone() {
    let home = tempfile::tempdir().expect("a folder");
    let path = Platform::Systemd.file(home.path()).expect("it has a file");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(&path, "[Service]\nExecStart=/bin/true\n").expect("written");
    assert!(matches!(Platform::Systemd.install(home.path(), &service()), Err(Error::Foreign(_))));
    assert!(matches!(Platform::Systemd.stop(home.path()), Err(Error::Foreign(_))));
    assert!(matches!(Platform::Systemd.uninstall(home.path()), Err(Error::Foreign(_))));
    assert!(path.exists());
}

#[test]
fn lines_cannot_be_smuggled_into_a_unit() {
    let mut service = service();
    service.arguments.push("x\nExecStartPre=/bin/evil".to_owned());
    assert!(matches!(Platform::Systemd.render(&service), Err(Error::Text(_))));
    service.arguments.clear();
    service.program = PathBuf::from("gleaner");
    assert!(matches!(Platform::Systemd.render(&service), Err(Error::Text(_))), "not a whole path");
}

#[test]
fn a_unit_keeps_every_argument_as_it_is() {
    let text = Platform::Systemd.render(&service()).expect("a unit");
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let expected = r#""/opt/my programs/gleaner" "share" "--hub" "http://hub:1/?a=1&b=100%%" "--name" "Ann's \"box\" $$HOME \\ x""#;
    assert_eq!(line, expected);
    for taken in ["NoNewPrivileges=yes", "RestrictSUIDSGID=yes", "UMask=0077"] {
        assert!(text.lines().any(|line| line == taken), "{taken}");
    }
}

#[test]
fn a_unit_leaves_the_watchdog_of_containers_alive() {
    let text = Platform::Systemd.render(&service()).expect("a unit");
    let modes: Vec<_> = text.lines().filter(|line| line.starts_with("KillMode=")).collect();
    assert_eq!(modes, ["KillMode=process"], "every other mode ends what cleans up after the worker");
}

#[test]
fn a_service_keeps_the_variables_that_it_was_installed_with() {
    let text = Platform::Systemd.render(&service()).expect("a unit");
    let line = text.lines().find(|line| line.starts_with("Environment=")).expect("a variable");
    // Percent signs would be replaced by systemd here; dollar signs are left alone.
    assert_eq!(line, r#"Environment="DOCKER_HOST=unix:///run/my \"own\" 100%%/$x.sock""#);
    let agent = Platform::Launchd.render(&service()).expect("an agent");
    assert!(agent.contains("<key>DOCKER_HOST</key>"), "{agent}");
    let none = Service { environment: Vec::new(), ..service() };
    assert!(!Platform::Systemd.render(&none).expect("a unit").contains("Environment="));
    let smuggled = [("DOCKER_HOST".to_owned(), "x\nExecStartPre=/bin/evil".to_owned())].to_vec();
    let smuggled = Service { environment: smuggled, ..service() };
    assert!(matches!(Platform::Systemd.render(&smuggled), Err(Error::Text(_))));
}

#[test]
fn systemd_accepts_the_unit() {
    let home = tempfile::tempdir().expect("a folder");
    let mut service = service();
    service.program = PathBuf::from("/bin/true");
    let path = Platform::Systemd.install(home.path(), &service).expect("installed").file.expect("a file");
    assert_eq!(verify(&path), "", "systemd complains");
}

#[test]
fn systemd_complains_of_a_broken_unit() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("broken.service");
    std::fs::write(&path, "[Service]\nExecStart=/bin/true\nNoNewPrivilege=yes\n").expect("written");
    let complaints = verify(&path);
    assert!(complaints.contains("NoNewPrivilege"), "{complaints}");
}

/// What systemd says about a unit.
fn verify(path: &Path) -> String {
    let mut command = Command::new("systemd-analyze");
    // Without a folder for its sockets it gives up before it has read the unit.
    let runtime = tempfile::tempdir().expect("a folder");
    command.args(["verify", "--user", "--man=no"]).arg(path).env("XDG_RUNTIME_DIR", runtime.path());
    let output = command.output().expect("systemd-analyze (Debian: apt install systemd)");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a unit has a name");
    let concerns = |line: &&str| line.contains(name) || line.starts_with("Failed to");
    text.lines().filter(concerns).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_agent_is_well_formed_and_keeps_every_argument() {
    let text = Platform::Launchd.render(&service()).expect("an agent");
    assert!(text.contains("<string>http://hub:1/?a=1&amp;b=100%</string>"), "{text}");
    let (mut open, mut rest): (Vec<&str>, &str) = (Vec::new(), &text);
    while let Some((_, tail)) = rest.split_once('<') {
        let (tag, tail) = tail.split_once('>').expect("every tag ends");
        rest = tail;
        let name = tag.split_whitespace().next().expect("a tag has a name");
        match name.strip_prefix('/') {
            Some(closing) => assert_eq!(open.pop(), Some(closing)),
            None if name.starts_with(['?', '!']) || tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn windows_gets_commands_to_type() {
    let done = Platform::Windows.install(Path::new("/home"), &service()).expect("words");
    assert_eq!(done.file, None);
    assert!(done.words.contains("Register-ScheduledTask -TaskName Gleaner"));
    assert!(done.words.contains("'/opt/my programs/gleaner'"));
    assert!(Platform::Windows.uninstall(Path::new("/home")).expect("words").words.contains("Unregister-ScheduledTask"));
}
