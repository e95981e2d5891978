//! How things are installed on each system.
use serde::{Deserialize, Serialize};

use crate::probe::system::{Family, System};

/// A family of systems that install alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Debian and what is close to it.
    Debian,
    /// Ubuntu and what is close to it.
    Ubuntu,
    /// Fedora.
    Fedora,
    /// Arch Linux and what is close to it.
    Arch,
    /// openSUSE.
    Suse,
    /// NixOS, where a configuration is changed instead.
    Nixos,
    /// Alpine Linux.
    Alpine,
    /// macOS, with Homebrew.
    Macos,
    /// Windows.
    Windows,
    /// A system for which no command is known.
    Unknown,
}

/// Something that can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// NVIDIA's driver: module and libraries.
    NvidiaDriver,
    /// NVIDIA's libraries alone, for a module that is there.
    NvidiaLibraries,
    /// NVIDIA's Vulkan driver.
    NvidiaVulkan,
    /// NVIDIA's support for containers.
    NvidiaContainers,
    /// Mesa's Vulkan drivers: AMD, Intel and software.
    MesaVulkan,
    /// Firmware of AMD and Intel cards.
    Firmware,
    /// The sandbox of programs that are not containers.
    Bubblewrap,
    /// The container engine.
    Podman,
    /// The container engine that hands on NVIDIA's cards.
    Docker,
    /// Blender.
    Blender,
    /// Videos out of frames.
    Ffmpeg,
}

/// Docker's own packages, always the newest.
const DOCKER_SCRIPT: &str = "curl -fsSL https://get.docker.com | sudo sh";

impl Distribution {
    /// Which one a system is, by its own name first and by what it descends from second.
    pub fn of(system: &System) -> Self {
        match system.family {
            Family::Macos => Self::Macos,
            Family::Windows => Self::Windows,
            Family::Other => Self::Unknown,
            Family::Linux => {
                let names = std::iter::once(&system.id).chain(&system.like);
                names.filter_map(|name| Self::named(name)).next().unwrap_or(Self::Unknown)
            }
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "debian" | "raspbian" | "devuan" => Some(Self::Debian),
            "ubuntu" | "linuxmint" | "pop" | "elementary" | "neon" => Some(Self::Ubuntu),
            "fedora" | "rhel" | "centos" | "rocky" | "almalinux" => Some(Self::Fedora),
            "arch" | "manjaro" | "endeavouros" | "cachyos" | "steamos" => Some(Self::Arch),
            "suse" | "opensuse" | "opensuse-tumbleweed" | "opensuse-leap" => Some(Self::Suse),
            "nixos" => Some(Self::Nixos),
            "alpine" => Some(Self::Alpine),
            _ => None,
        }
    }

    /// The command that installs something here, or what to do where there is none.
    pub fn install(self, need: Need) -> String {
        match self {
            // The engine in a stable Debian may be too old for what it is needed for.
            Self::Debian if need == Need::Docker => DOCKER_SCRIPT.to_owned(),
            Self::Debian => format!("sudo apt install {}", debian(need)),
            Self::Ubuntu => ubuntu(need).to_owned(),
            Self::Fedora => fedora(need).to_owned(),
            Self::Arch => format!("sudo pacman -S {}", arch(need)),
            Self::Suse => format!("sudo zypper install {}", suse(need)),
            Self::Nixos => format!("{} in /etc/nixos/configuration.nix, then sudo nixos-rebuild switch", nixos(need)),
            Self::Alpine => format!("sudo apk add {}", alpine(need)),
            Self::Macos => macos(need).to_owned(),
            Self::Windows => windows(need).to_owned(),
            Self::Unknown => format!("install {} with your system's package manager", plain(need)),
        }
    }
}

fn debian(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver => "nvidia-driver firmware-misc-nonfree (from contrib and non-free), then reboot",
        Need::NvidiaLibraries => "nvidia-driver-libs libnvidia-ml1 nvidia-smi",
        Need::NvidiaVulkan => "nvidia-vulkan-icd",
        Need::NvidiaContainers => "nvidia-container-toolkit (from NVIDIA's package source)",
        Need::MesaVulkan => "mesa-vulkan-drivers",
        Need::Firmware => "firmware-amd-graphics firmware-misc-nonfree (from non-free-firmware), then reboot",
        Need::Bubblewrap => "bubblewrap",
        Need::Podman => "podman",
        Need::Docker => "docker.io",
        Need::Blender => "blender",
        Need::Ffmpeg => "ffmpeg",
    }
}

fn ubuntu(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver => "sudo ubuntu-drivers install, then reboot",
        Need::NvidiaLibraries => "sudo ubuntu-drivers install",
        Need::NvidiaVulkan => "sudo apt install libnvidia-gl-$(cut -d. -f1 /sys/module/nvidia/version)",
        Need::NvidiaContainers => "sudo apt install nvidia-container-toolkit (from NVIDIA's package source)",
        Need::MesaVulkan => "sudo apt install mesa-vulkan-drivers",
        Need::Firmware => "sudo apt install linux-firmware, then reboot",
        Need::Bubblewrap => "sudo apt install bubblewrap",
        Need::Podman => "sudo apt install podman",
        Need::Docker => DOCKER_SCRIPT,
        Need::Blender => "sudo apt install blender",
        Need::Ffmpeg => "sudo apt install ffmpeg",
    }
}

fn fedora(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver => "sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda (from RPM Fusion), then reboot",
        Need::NvidiaLibraries => "sudo dnf install xorg-x11-drv-nvidia-cuda (from RPM Fusion)",
        Need::NvidiaVulkan => "sudo dnf install xorg-x11-drv-nvidia-libs (from RPM Fusion)",
        Need::NvidiaContainers => "sudo dnf install nvidia-container-toolkit (from NVIDIA's package source)",
        Need::MesaVulkan => "sudo dnf install mesa-vulkan-drivers",
        Need::Firmware => "sudo dnf install linux-firmware, then reboot",
        Need::Bubblewrap => "sudo dnf install bubblewrap",
        Need::Podman => "sudo dnf install podman",
        Need::Docker => "sudo dnf install moby-engine",
        Need::Blender => "sudo dnf install blender",
        Need::Ffmpeg => "sudo dnf install ffmpeg-free",
    }
}

fn arch(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver => "nvidia-open nvidia-utils, then reboot",
        Need::NvidiaLibraries | Need::NvidiaVulkan => "nvidia-utils",
        Need::NvidiaContainers => "nvidia-container-toolkit",
        Need::MesaVulkan => "vulkan-radeon vulkan-intel vulkan-swrast",
        Need::Firmware => "linux-firmware, then reboot",
        Need::Bubblewrap => "bubblewrap",
        Need::Podman => "podman",
        Need::Docker => "docker",
        Need::Blender => "blender",
        Need::Ffmpeg => "ffmpeg",
    }
}

fn suse(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver => "nvidia-open-driver-G06-signed-kmp-default nvidia-compute-utils-G06, then reboot",
        Need::NvidiaLibraries => "nvidia-compute-utils-G06",
        Need::NvidiaVulkan => "nvidia-gl-G06",
        Need::NvidiaContainers => "nvidia-container-toolkit",
        Need::MesaVulkan => "libvulkan_radeon libvulkan_intel libvulkan_lvp",
        Need::Firmware => "kernel-firmware-all, then reboot",
        Need::Bubblewrap => "bubblewrap",
        Need::Podman => "podman",
        Need::Docker => "docker",
        Need::Blender => "blender",
        Need::Ffmpeg => "ffmpeg",
    }
}

fn nixos(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver | Need::NvidiaLibraries | Need::NvidiaVulkan => {
            "set services.xserver.videoDrivers = [ \"nvidia\" ]; and hardware.graphics.enable = true;"
        }
        Need::NvidiaContainers => "set hardware.nvidia-container-toolkit.enable = true;",
        Need::MesaVulkan => "set hardware.graphics.enable = true;",
        Need::Firmware => "set hardware.enableRedistributableFirmware = true;",
        Need::Bubblewrap => "add pkgs.bubblewrap to environment.systemPackages",
        Need::Podman => "set virtualisation.podman.enable = true;",
        Need::Docker => "set virtualisation.docker.enable = true;",
        Need::Blender => "add pkgs.blender to environment.systemPackages",
        Need::Ffmpeg => "add pkgs.ffmpeg to environment.systemPackages",
    }
}

fn alpine(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver | Need::NvidiaLibraries | Need::NvidiaVulkan | Need::NvidiaContainers => {
            "mesa-vulkan-nouveau (NVIDIA's own driver does not run on Alpine; CUDA needs another system)"
        }
        Need::MesaVulkan => "mesa-vulkan-ati mesa-vulkan-intel mesa-vulkan-swrast",
        Need::Firmware => "linux-firmware-amdgpu linux-firmware-i915, then reboot",
        Need::Bubblewrap => "bubblewrap",
        Need::Podman => "podman",
        Need::Docker => "docker",
        Need::Blender => "blender",
        Need::Ffmpeg => "ffmpeg",
    }
}

fn macos(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver | Need::NvidiaLibraries | Need::NvidiaVulkan | Need::NvidiaContainers => {
            "none: macOS has no driver for NVIDIA cards"
        }
        Need::MesaVulkan | Need::Firmware => "softwareupdate --install --all (Metal comes with macOS)",
        Need::Bubblewrap => "none: this sandbox needs Linux",
        Need::Podman => "brew install podman && podman machine init && podman machine start",
        Need::Docker => "brew install --cask docker",
        Need::Blender => "brew install --cask blender",
        Need::Ffmpeg => "brew install ffmpeg",
    }
}

fn windows(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver | Need::NvidiaLibraries | Need::NvidiaVulkan | Need::NvidiaContainers => {
            "install NVIDIA's driver for Windows from the maker's page"
        }
        Need::MesaVulkan | Need::Firmware => "install the graphics driver from the maker's page",
        Need::Bubblewrap => "none: this sandbox needs Linux; run Gleaner inside WSL 2",
        Need::Podman => "winget install RedHat.Podman",
        Need::Docker => "winget install Docker.DockerDesktop",
        Need::Blender => "winget install BlenderFoundation.Blender",
        Need::Ffmpeg => "winget install Gyan.FFmpeg",
    }
}

fn plain(need: Need) -> &'static str {
    match need {
        Need::NvidiaDriver => "NVIDIA's driver",
        Need::NvidiaLibraries => "the libraries of NVIDIA's driver, in the module's version,",
        Need::NvidiaVulkan => "NVIDIA's Vulkan driver",
        Need::NvidiaContainers => "NVIDIA's container toolkit",
        Need::MesaVulkan => "Mesa's Vulkan drivers",
        Need::Firmware => "the firmware of your graphics card",
        Need::Bubblewrap => "bubblewrap",
        Need::Podman => "podman",
        Need::Docker => "Docker, 25 or newer,",
        Need::Blender => "Blender",
        Need::Ffmpeg => "ffmpeg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux(id: &str, like: &[&str]) -> Distribution {
        let like = like.iter().map(|&name| name.to_owned()).collect();
        Distribution::of(&System { id: id.to_owned(), like, ..System::default() })
    }

    #[test]
    fn a_descendant_installs_as_its_ancestor_does() {
        assert_eq!(linux("zorin", &["ubuntu", "debian"]), Distribution::Ubuntu);
        assert_eq!(linux("debian", &[]).install(Need::Bubblewrap), "sudo apt install bubblewrap");
        assert_eq!(linux("nobara", &["fedora"]).install(Need::MesaVulkan), "sudo dnf install mesa-vulkan-drivers");
        assert_eq!(linux("garuda", &["arch"]).install(Need::Podman), "sudo pacman -S podman");
        assert!(linux("nixos", &[]).install(Need::NvidiaDriver).contains("nixos-rebuild switch"));
    }

    #[test]
    fn an_unknown_system_gets_words_instead_of_a_wrong_command() {
        let words = linux("homemade", &[]).install(Need::Bubblewrap);
        assert_eq!(words, "install bubblewrap with your system's package manager");
    }
}
