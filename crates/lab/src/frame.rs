//! What a TUN device hands over: a packet, or many packets of one flow in one buffer, and how to take some of them out.
//!
//! A sender that leaves segmentation to the device writes its headers once before up to 64 KiB of payload; the device is
//! told the length of the payload of each packet. Here such a buffer is cut into smaller ones of the same kind, so that
//! single packets can be lost. Checksums of the payload are left to whoever delivers, as the device allows: the field
//! holds the sum of the addresses, the protocol and the length only.

/// Bytes before the packet that say how it is to be segmented (`struct virtio_net_hdr`).
pub const PREFIX: usize = 10;
/// The longest buffer.
pub const BYTES_MAX: usize = PREFIX + 65_535 + 1;

const NEEDS_CHECKSUM: u8 = 1;
const SEGMENTS_NONE: u8 = 0;
const SEGMENTS_TCP4: u8 = 1;
const SEGMENTS_UDP: u8 = 5;
const SEGMENTS_ECN: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;
const TCP_FIN_AND_PUSH: u8 = 0x09;
const TCP_CONGESTION_REDUCED: u8 = 0x80;
const UDP_HEADER: usize = 8;

/// How the packets of a buffer begin.
#[derive(Clone, Copy)]
struct Many {
    transport: u8,
    ip_header: usize,
    headers: usize,
    payload_each: usize,
}

/// A buffer as a device has handed it over.
pub struct Frame<'a> {
    bytes: &'a [u8],
    many: Option<Many>,
}

impl<'a> Frame<'a> {
    /// Looks at it. What is not understood is taken as one packet; what is too short for anything is nothing.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() > PREFIX).then(|| Self { bytes, many: many(bytes) })
    }

    /// How many packets it holds.
    pub fn packets(&self) -> usize {
        self.many.map_or(1, |many| (self.packet().len() - many.headers).div_ceil(many.payload_each).max(1))
    }

    /// The length of one of them on the line.
    pub fn length(&self, packet: usize) -> usize {
        self.many.map_or(self.packet().len(), |many| many.headers + self.payload(&many, packet, packet + 1).len())
    }

    /// The buffer that holds the packets from `from` up to `to`.
    pub fn cut(&self, from: usize, to: usize) -> Vec<u8> {
        let Some(many) = self.many.filter(|_| to - from < self.packets()) else { return self.bytes.to_vec() };
        let payload = self.payload(&many, from, to);
        let mut cut = Vec::with_capacity(PREFIX + many.headers + payload.len());
        cut.extend_from_slice(&self.bytes[..PREFIX + many.headers]);
        cut.extend_from_slice(payload);
        if to - from == 1 {
            cut[1] = SEGMENTS_NONE;
            put(&mut cut, 4, [0, 0]);
        }
        let (first, last) = (from == 0, to == self.packets());
        let packet = &mut cut[PREFIX..];
        write_ip(packet, many.ip_header, from);
        match many.transport {
            TCP => write_tcp(packet, &many, from, first, last),
            _ => write_udp(packet, &many),
        }
        cut
    }

    fn packet(&self) -> &'a [u8] {
        &self.bytes[PREFIX..]
    }

    fn payload(&self, many: &Many, from: usize, to: usize) -> &'a [u8] {
        let payload = &self.packet()[many.headers..];
        let end = (to * many.payload_each).min(payload.len());
        &payload[(from * many.payload_each).min(end)..end]
    }
}

fn many(bytes: &[u8]) -> Option<Many> {
    let (prefix, packet) = bytes.split_at(PREFIX);
    let payload_each = usize::from(u16::from_ne_bytes([prefix[4], prefix[5]]));
    let ip_header = usize::from(packet[0] & 0x0f) * 4;
    let (transport, transport_header) = match prefix[1] & !SEGMENTS_ECN {
        SEGMENTS_TCP4 => (TCP, usize::from(packet.get(ip_header + 12)? >> 4) * 4),
        SEGMENTS_UDP => (UDP, UDP_HEADER),
        _ => return None,
    };
    let headers = ip_header + transport_header;
    let understood = packet[0] >> 4 == 4
        && ip_header >= 20
        && packet.get(9) == Some(&transport)
        && prefix[0] & NEEDS_CHECKSUM != 0
        && payload_each > 0
        && packet.len() > headers;
    understood.then_some(Many { transport, ip_header, headers, payload_each })
}

fn write_ip(packet: &mut [u8], header: usize, number: usize) {
    let length = low_16(packet.len());
    put(packet, 2, length.to_be_bytes());
    let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(low_16(number));
    put(packet, 4, id.to_be_bytes());
    put(packet, 10, [0, 0]);
    let sum = !folded(sum(&packet[..header]));
    put(packet, 10, sum.to_be_bytes());
}

fn write_tcp(packet: &mut [u8], many: &Many, from: usize, first: bool, last: bool) {
    let tcp = many.ip_header;
    let sequence = u32::from_be_bytes([packet[tcp + 4], packet[tcp + 5], packet[tcp + 6], packet[tcp + 7]]);
    let sequence = sequence.wrapping_add(u32::try_from(from * many.payload_each).unwrap_or(u32::MAX));
    packet[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
    if !last {
        packet[tcp + 13] &= !TCP_FIN_AND_PUSH;
    }
    if !first {
        packet[tcp + 13] &= !TCP_CONGESTION_REDUCED;
    }
    let sum = begun_sum(packet, many);
    put(packet, tcp + 16, sum.to_be_bytes());
}

fn write_udp(packet: &mut [u8], many: &Many) {
    let udp = many.ip_header;
    let length = low_16(packet.len() - udp);
    put(packet, udp + 4, length.to_be_bytes());
    let sum = begun_sum(packet, many);
    put(packet, udp + 6, sum.to_be_bytes());
}

/// The sum over addresses, protocol and length, to which whoever delivers adds the rest.
fn begun_sum(packet: &[u8], many: &Many) -> u16 {
    let length = packet.len() - many.ip_header;
    folded(sum(&packet[12..20]) + u32::from(many.transport) + u32::from(low_16(length)))
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two.get(1).copied().unwrap_or(0)]))).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    low_16(sum as usize)
}

fn put(bytes: &mut [u8], at: usize, value: [u8; 2]) {
    bytes[at..at + 2].copy_from_slice(&value);
}

fn low_16(number: usize) -> u16 {
    (number & 0xffff) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers of 40 or 28 bytes before a payload that counts upwards.
    fn buffer(kind: u8, payload: usize, each: u16) -> Vec<u8> {
        let transport = if kind == SEGMENTS_UDP { UDP } else { TCP };
        let mut bytes = vec![NEEDS_CHECKSUM, kind, 0, 0, 0, 0, 20, 0, 16, 0];
        bytes[4..6].copy_from_slice(&each.to_ne_bytes());
        let mut ip = [0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, transport, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        ip[2..4].copy_from_slice(&[1, 2]);
        bytes.extend(ip);
        if transport == TCP {
            bytes.extend([0, 80, 1, 1, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x50, 0x99, 0, 0, 0, 0, 0, 0]);
        } else {
            bytes.extend([0, 80, 1, 1, 0, 0, 0, 0]);
        }
        bytes.extend((0..payload).map(|number| (number % 251) as u8));
        bytes
    }

    #[test]
    fn a_buffer_of_many_is_counted_and_measured() {
        let bytes = buffer(SEGMENTS_TCP4, 2500, 1000);
        let frame = Frame::new(&bytes).expect("a frame");
        assert_eq!(frame.packets(), 3);
        assert_eq!([0, 1, 2].map(|packet| frame.length(packet)), [1040, 1040, 540]);
    }

    #[test]
    fn what_is_cut_out_has_its_own_headers() {
        let bytes = buffer(SEGMENTS_TCP4, 2500, 1000);
        let frame = Frame::new(&bytes).expect("a frame");
        let middle = frame.cut(1, 2);
        let packet = &middle[PREFIX..];
        assert_eq!((middle[1], packet.len()), (SEGMENTS_NONE, 1040));
        assert_eq!(u16::from_be_bytes([packet[2], packet[3]]), 1040);
        assert_eq!([packet[4], packet[5]], [0, 0], "the next id, wrapped");
        assert_eq!(folded(sum(&packet[..20])), 0xffff, "a right IP checksum");
        let begun = folded(sum(&packet[12..20]) + 6 + 1020);
        assert_eq!(packet[36..38], begun.to_be_bytes(), "the sum over addresses, protocol and length");
        assert_eq!(packet[24..28], 999_u32.to_be_bytes(), "the next sequence number, wrapped");
        assert_eq!(packet[33], 0x10, "no end, no push, no congestion mark in the middle");
        assert_eq!(packet[40..], bytes[PREFIX + 40 + 1000..PREFIX + 40 + 2000]);
        let end = frame.cut(1, 3);
        assert_eq!((end[1], end.len()), (SEGMENTS_TCP4, PREFIX + 40 + 1500));
        assert_eq!(end[PREFIX + 33], 0x19, "the last has the end and the push");
        assert_eq!(frame.cut(0, 1)[PREFIX + 33], 0x90, "the first has the congestion mark");
    }

    #[test]
    fn datagrams_are_cut_out_with_their_length() {
        let bytes = buffer(SEGMENTS_UDP, 3000, 1000);
        let frame = Frame::new(&bytes).expect("a frame");
        let two = frame.cut(0, 2);
        assert_eq!((two[1], two.len()), (SEGMENTS_UDP, PREFIX + 28 + 2000));
        assert_eq!(two[PREFIX + 24..PREFIX + 26], 2008_u16.to_be_bytes());
        assert_eq!(frame.cut(0, 3), bytes, "all of it is left alone");
    }

    #[test]
    fn what_is_not_understood_is_one_packet() {
        for kind in [SEGMENTS_NONE, 3, 4, 77] {
            let bytes = buffer(kind, 2500, 1000);
            let frame = Frame::new(&bytes).expect("a frame");
            assert_eq!((frame.packets(), frame.length(0)), (1, bytes.len() - PREFIX));
            assert_eq!(frame.cut(0, 1), bytes);
        }
        assert!(Frame::new(&[0; PREFIX]).is_none());
        for length in PREFIX + 1..PREFIX + 40 {
            let bytes = buffer(SEGMENTS_TCP4, 2500, 1000);
            assert_eq!(Frame::new(&bytes[..length]).expect("a frame").packets(), 1);
        }
    }
}
