//! Chunks between machines on real networks: homes behind NAT, long and lossy lines, addresses that change.
use gleaner_lab as _;
