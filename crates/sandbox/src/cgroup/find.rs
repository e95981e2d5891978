//! Finds where a worker can make control groups: pure readings of what `/proc` tells, then a try.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a group of the first version needs.
const CONTROLLERS: [&str; 3] = ["memory", "pids", "cpu"];
/// What is used of the first version where it is there.
const WELCOME: [&str; 2] = ["cpuacct", "freezer"];

/// Where the worker's parent group is.
#[derive(Debug)]
pub(super) enum Place {
    /// A folder for each controller.
    First(BTreeMap<String, PathBuf>),
    /// One folder.
    Second(PathBuf),
}

impl Place {
    pub(super) fn parents(&self) -> Vec<PathBuf> {
        match self {
            Self::First(mounts) => mounts.values().cloned().collect(),
            Self::Second(parent) => vec![parent.clone()],
        }
    }
}

impl Drop for Place {
    /// Leaves nothing behind, unless somebody else put something there.
    fn drop(&mut self) {
        for parent in self.parents() {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// Where hierarchies are mounted, out of `/proc/self/mountinfo`: by controller, and the second version's own.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    first: BTreeMap<String, PathBuf>,
    pub(super) second: Option<PathBuf>,
}

pub(super) fn mounts(mountinfo: &str) -> Mounts {
    let mut found = Mounts::default();
    for line in mountinfo.lines() {
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let Some(point) = before.split(' ').nth(4) else { continue };
        let mut after = after.split(' ');
        let (kind, options) = (after.next().unwrap_or_default(), after.nth(1).unwrap_or_default());
        match kind {
            "cgroup2" => found.second = Some(point.into()),
            "cgroup" => {
                let names = options.split(',').filter(|name| CONTROLLERS.contains(name) || WELCOME.contains(name));
                found.first.extend(names.map(|name| (name.to_owned(), point.into())));
            }
            _other_file_system => {}
        }
    }
    found
}

/// Where this process is, out of `/proc/self/cgroup`: by controller, the second version's own under the empty name.
pub(super) fn own_paths(cgroup: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(names), Some(path)) = (parts.next(), parts.next()) else { continue };
        found.extend(names.split(',').map(|name| (name.to_owned(), path.to_owned())));
    }
    found
}

/// Makes the parent group called `name`, or says why it cannot be made.
pub(super) fn place(name: &str) -> Result<Place, String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"));
    let mounts = mounts(&read("/proc/self/mountinfo")?);
    let own = own_paths(&read("/proc/self/cgroup")?);
    if CONTROLLERS.iter().all(|controller| mounts.first.contains_key(*controller)) {
        return first(&mounts.first, &own, name);
    }
    match &mounts.second {
        Some(mount) => second(mount, own.get("").map_or("/", String::as_str), name),
        None => Err("control groups are not mounted on this system".into()),
    }
}

fn first(mounts: &BTreeMap<String, PathBuf>, own: &BTreeMap<String, String>, name: &str) -> Result<Place, String> {
    let mut parents = BTreeMap::new();
    for (controller, mount) in mounts {
        // At the top where that is allowed, as container engines do: a worker that is started elsewhere next time finds
        // what this one left.
        let within = own.get(controller).map_or("", |path| path.trim_start_matches('/'));
        let made = make(&mount.join(name)).or_else(|_| make(&mount.join(within).join(name)));
        match made {
            Ok(parent) => drop(parents.insert(controller.clone(), parent)),
            Err(why) if CONTROLLERS.contains(&controller.as_str()) => return Err(why),
            Err(_) => {}
        }
    }
    Ok(Place::First(parents))
}

fn make(path: &Path) -> Result<PathBuf, String> {
    match fs::create_dir(path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("the group {} cannot be made: {error}", path.display())),
    }
    // A group that another user made can be there and still be of no use.
    if rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err() {
        return Err(format!("the group {} belongs to someone else", path.display()));
    }
    Ok(path.to_owned())
}

fn second(mount: &Path, own: &str, name: &str) -> Result<Place, String> {
    let delegated = mount.join(own.trim_start_matches('/'));
    let below_own = below(&delegated, name);
    let parent = match below_own {
        Ok(parent) => parent,
        Err(why) => below(mount, name).map_err(|_| why)?,
    };
    Ok(Place::Second(parent))
}

/// Makes a group below another one, with the controllers that jobs need.
fn below(above: &Path, name: &str) -> Result<PathBuf, String> {
    let controllers = fs::read_to_string(above.join("cgroup.controllers")).unwrap_or_default();
    let has = |wanted: &str| controllers.split_whitespace().any(|name| name == wanted);
    if let Some(missing) = CONTROLLERS.iter().find(|controller| !has(controller)) {
        return Err(format!(
            "the group {} has no {missing} controller. With systemd, run the worker as a service with Delegate=yes",
            above.display()
        ));
    }
    let parent = make(&above.join(name))?;
    enable(above).or_else(|_| leave(above).and_then(|()| enable(above)))?;
    enable(&parent)?;
    Ok(parent)
}

fn enable(group: &Path) -> Result<(), String> {
    let wanted = CONTROLLERS.map(|name| format!("+{name}")).join(" ");
    fs::write(group.join("cgroup.subtree_control"), wanted)
        .map_err(|error| format!("controllers of {} cannot be handed down: {error}", group.display()))
}

/// Moves what is in a group into a leaf below it: a group that hands controllers down may hold no process itself.
fn leave(group: &Path) -> Result<(), String> {
    let leaf = make(&group.join("gleaner-main"))?;
    for process in super::members(group) {
        let _ = fs::write(leaf.join("cgroup.procs"), process.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 20 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/unified rw,nosuid shared:4 - cgroup2 cgroup2 rw
27 25 0:24 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
28 25 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
29 25 0:26 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
30 25 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
";

    #[test]
    fn controllers_mounted_together_are_both_found() {
        let found = mounts(HYBRID);
        assert_eq!(found.first["cpu"], found.first["cpuacct"]);
        assert_eq!(found.first["memory"], Path::new("/sys/fs/cgroup/memory"));
        assert_eq!(found.second.as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        assert!(!found.first.contains_key("name=systemd"));
    }

    #[test]
    fn second_version_alone_is_found() {
        let found = mounts("26 25 0:23 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup rw,nsdelegate\n");
        assert_eq!(found, Mounts { first: BTreeMap::new(), second: Some("/sys/fs/cgroup".into()) });
    }

    #[test]
    fn own_group_is_found_for_each_controller() {
        let own = own_paths("3:cpu,cpuacct:/a\n2:memory:/b:c\n0::/user.slice\n");
        assert_eq!((own["cpu"].as_str(), own["cpuacct"].as_str()), ("/a", "/a"));
        assert_eq!((own["memory"].as_str(), own[""].as_str()), ("/b:c", "/user.slice"));
    }

    #[test]
    fn group_without_the_memory_controller_says_what_to_do() {
        let group = tempfile::tempdir().expect("a temporary folder");
        fs::write(group.path().join("cgroup.controllers"), "cpu pids\n").expect("a list");
        assert!(below(group.path(), "x").expect_err("no memory controller").contains("Delegate=yes"));
    }
}
