# Which Debian packages and tools Gleaner needs, and how they are installed. Sourced by the other scripts.

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else
        command -v sudo >/dev/null || fail "installing packages needs root or sudo: run \`$*\` as root, then try again"
        sudo "$@"
    fi
}

# Installs the packages that are missing; asks for nothing if all are there.
need_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    command -v apt-get >/dev/null || fail "install what Debian calls: ${missing[*]}"
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >&2 ||
        say "the package lists could not be refreshed; trying with those that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}" >&2
}

need_compiler() {
    command -v cc >/dev/null || need_packages gcc libc6-dev
}

# For the contracts: their compiler and test node come from npm, their static analysis from PyPI.
need_node() {
    command -v npm >/dev/null || need_packages nodejs npm
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages python3-venv
}

# The dashboard, which the hub's build puts into the binary. Built again only if something of it is newer than what is there.
need_page() {
    command -v npm >/dev/null || return 1
    local built=web/dist/index.html
    if [ -f "$built" ] && [ -z "$(find web/src web/public web/index.html web/package-lock.json -newer "$built" -print -quit)" ]; then
        return
    fi
    say "building the dashboard"
    npm --prefix web ci --silent >&2 && npm --prefix web run --silent build >&2
}

need_rust() {
    [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
    command -v cargo >/dev/null || fail "no Rust toolchain: install one as https://rustup.rs says, then run this again"
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version | cut -d' ' -f2)
    [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -1)" = "$wanted" ] ||
        fail "Rust $found is older than $wanted: run \`rustup update stable\`"
}

# A Vulkan driver: NVIDIA's comes with its kernel driver; Mesa has those for AMD and Intel, and one that computes on the
# processor where there is no GPU at all.
need_vulkan() {
    if [ -e /dev/nvidia0 ]; then need_packages libvulkan1; else need_packages mesa-vulkan-drivers; fi
}

# The folder that cargo builds into.
target_folder() {
    cargo metadata --format-version 1 --no-deps | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}
