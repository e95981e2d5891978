//! A network device whose other side is a file of ours. The only room with calls that the compiler cannot check.
use super::Error;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Setter, ioctl, opcode};
use std::ffi::c_int;
use std::os::fd::OwnedFd;

const FLAG_TUN: u16 = 0x0001;
const FLAG_PLAIN: u16 = 0x1000;
const FLAG_PREFIX: u16 = 0x4000;

const OFFLOAD_CHECKSUM: usize = 0x01;
const OFFLOAD_TCP4: usize = 0x02;
const OFFLOAD_TCP6: usize = 0x04;
const OFFLOAD_UDP4: usize = 0x20;
const OFFLOAD_UDP6: usize = 0x40;

const SET_DEVICE: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 202);
const SET_OFFLOAD: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 208);

/// `struct ifreq`, as far as it is used here.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// Makes a device of this name in the namespace of the calling thread. It lives as long as the file.
pub fn open(name: &str) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())
        .map_err(|why| Error::Unavailable(format!("/dev/net/tun cannot be opened ({why}): load the tun module")))?;
    let mut request = Request { name: [0; 16], flags: FLAG_TUN | FLAG_PLAIN | FLAG_PREFIX, rest: [0; 22] };
    let length = name.len().min(15);
    request.name[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: TUNSETIFF takes a pointer to an ifreq, which Request has the size and layout of.
    let made = unsafe { ioctl(&file, Setter::<SET_DEVICE, Request>::new(request)) };
    made.map_err(|why| Error::Unavailable(format!("no network device may be made ({why}): run this as root")))?;
    let tcp = OFFLOAD_CHECKSUM | OFFLOAD_TCP4 | OFFLOAD_TCP6;
    match offload(&file, tcp | OFFLOAD_UDP4 | OFFLOAD_UDP6) {
        // Kernels before 6.2 cannot leave the segmentation of datagrams to a device.
        Err(Errno::INVAL) => offload(&file, tcp),
        other => other,
    }
    .map_err(|why| Error::system(format!("leaving segmentation to device {name}"))(why.into()))?;
    Ok(file)
}

fn offload(file: &OwnedFd, what: usize) -> Result<(), Errno> {
    // SAFETY: TUNSETOFFLOAD takes a number.
    unsafe { ioctl(file, IntegerSetter::<SET_OFFLOAD>::new_usize(what)) }
}
