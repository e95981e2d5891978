//! Puts the dashboard into the binary: a table of the files that `npm run build` made in web/dist, empty if it was not run.
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Writes the table into cargo's folder.
pub fn embed(out: &Path) {
    let built = Path::new("../../web/dist");
    // A path that is not there would make cargo run this every time.
    if built.is_dir() {
        println!("cargo::rerun-if-changed={}", built.display());
    }
    let mut table = String::from("&[\n");
    if built.join("index.html").is_file() {
        // Out of a copy: the page may be built again while the program is.
        let copy = out.join("dashboard");
        let _ = fs::remove_dir_all(&copy);
        copy_files(built, &copy);
        write_rows(&copy, &copy, &mut table);
    }
    table += "]\n";
    fs::write(out.join("dashboard.rs"), table).expect("cargo's folder can be written");
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("cargo's folder can be written");
    for entry in fs::read_dir(from).expect("the folder can be read") {
        let entry = entry.expect("its entries can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_files(&from, &to);
        } else {
            fs::copy(&from, &to).expect("the file can be copied");
        }
    }
}

/// Writes a row for each file of a folder, in the order of their names. What begins with a dot is not the page's.
fn write_rows(root: &Path, folder: &Path, table: &mut String) {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("its entries can be read").path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).expect("the build makes plain names");
        if name.starts_with('.') || name.ends_with(".gz") {
            continue;
        }
        if path.is_dir() {
            write_rows(root, &path, table);
        } else {
            write_row(root, &path, table);
        }
    }
}

fn write_row(root: &Path, path: &Path, table: &mut String) {
    let within = path.strip_prefix(root).expect("it lies in the folder");
    let address = within.to_str().expect("the build makes plain names").replace('\\', "/");
    let squeezed = PathBuf::from(format!("{}.gz", path.display()));
    let gzip = if squeezed.is_file() { format!("Some(include_bytes!({squeezed:?}))") } else { "None".to_owned() };
    let mut hasher = DefaultHasher::new();
    fs::read(path).expect("the file can be read").hash(&mut hasher);
    let row = writeln!(
        table,
        "    File {{ path: {:?}, kind: {:?}, tag: \"\\\"{:016x}\\\"\", lasting: {}, bytes: include_bytes!({path:?}), gzip: {gzip} }},",
        format!("/{address}"),
        kind(&address),
        hasher.finish(),
        // Names of these files change with their content.
        address.starts_with("assets/"),
    );
    row.expect("writing to a string does not fail");
}

/// The media type of a file, by its name.
fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}
