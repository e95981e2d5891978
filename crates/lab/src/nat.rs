//! Routers that hide what is behind them.
use super::{Error, Link, Machine, Side};

/// How a router chooses the port by which an inner machine is seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nat {
    /// The machine's own port where it is free, the same one for everybody outside: most homes. Two machines that send
    /// to each other at the same time get through.
    Easy,
    /// Another random port for everybody outside: some companies and mobile networks. Nobody can guess it, so two of
    /// these need somebody in the middle.
    Hard,
}

impl Machine {
    /// Makes this router hide all it knows behind its address on this link, and let nothing in that was not asked for.
    /// Debian has what it takes in nftables.
    pub fn hide_behind(&self, link: &Link, side: Side, nat: Nat) -> Result<(), Error> {
        let device = link.device(side);
        let how = match nat {
            Nat::Easy => "",
            Nat::Hard => "fully-random",
        };
        let rules = format!(
            "table ip home {{
                chain out {{
                    type nat hook postrouting priority 100;
                    oifname \"{device}\" masquerade {how}
                }}
                chain for_itself {{
                    type filter hook input priority 0;
                    iifname \"{device}\" ct state established,related accept
                    iifname \"{device}\" drop
                }}
                chain for_others {{
                    type filter hook forward priority 0;
                    iifname \"{device}\" ct state established,related accept
                    iifname \"{device}\" drop
                }}
            }}\n"
        );
        self.feed("nft", &["-f", "-"], &rules, "nftables")
    }
}
