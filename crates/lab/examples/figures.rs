//! What a line can carry, and what carrying costs: `cargo run --release -p gleaner-lab --example figures`.
#![expect(clippy::print_stdout, reason = "figures are for whoever runs this")]
use gleaner_lab::{Error, Link, Machine, Shape, Side};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(4);

/// Processor seconds of all threads of this process whose name is this. The scheduler's own count: samples taken at
/// ticks of the clock would be wrong for threads that wake by the clock.
fn processor_seconds(name: &str) -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
    let named = |task: &PathBuf| std::fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == name);
    let spent = |task: PathBuf| {
        let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    tasks.filter(named).filter_map(spent).sum::<f64>() * 1e-9
}

fn tcp(left: &Machine, right: &Machine, address: Ipv4Addr) -> std::io::Result<u64> {
    let listener = right.inside(move || TcpListener::bind((address, 0)))?;
    let to = listener.local_addr()?;
    let receiving = std::thread::spawn(move || -> std::io::Result<u64> {
        let (mut stream, _) = listener.accept()?;
        let (mut buffer, mut total) = (vec![0; 1 << 18], 0);
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(total),
                length => total += length as u64,
            }
        }
    });
    let mut stream = left.inside(move || TcpStream::connect(to))?;
    let (start, block) = (Instant::now(), vec![7; 1 << 18]);
    while start.elapsed() < TIME {
        stream.write_all(&block)?;
    }
    drop(stream);
    receiving.join().map_err(|_| std::io::Error::other("the receiver ended"))?
}

fn udp(left: &Machine, right: &Machine, address: Ipv4Addr) -> std::io::Result<u64> {
    let receiver = right.inside(move || UdpSocket::bind((address, 0)))?;
    receiver.set_read_timeout(Some(Duration::from_millis(500)))?;
    let to = receiver.local_addr()?;
    let receiving = std::thread::spawn(move || {
        let (mut buffer, mut total) = ([0; 2048], 0);
        while let Ok(length) = receiver.recv(&mut buffer) {
            total += length as u64;
        }
        total
    });
    let sender = left.inside(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
    let start = Instant::now();
    while start.elapsed() < TIME {
        for _ in 0..32 {
            sender.send_to(&[7; 1400], to)?;
        }
    }
    receiving.join().map_err(|_| std::io::Error::other("the receiver ended"))
}

fn measure(
    what: &str,
    shape: Shape,
    carry: fn(&Machine, &Machine, Ipv4Addr) -> std::io::Result<u64>,
) -> Result<(), Error> {
    let [one, two] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
    let (left, right) = (Machine::new("left")?, Machine::new("right")?);
    let link = Link::new((&left, one), (&right, two))?;
    link.set(Side::Left, shape);
    link.set(Side::Right, Shape { rate: shape.rate, delay: shape.delay, ..Shape::open() });
    let (start, before) = (Instant::now(), processor_seconds("line"));
    let bytes = carry(&left, &right, two).map_err(|source| Error::System { what: what.to_owned(), source })?;
    let (time, cost) = (start.elapsed().as_secs_f64(), processor_seconds("line") - before);
    let carried = link.carried(Side::Left);
    println!(
        "{what:<34} {:7.0} Mbit/s received, {:5.1} % of a processor for the line, {:.2} s for a gigabyte; {carried:?}",
        bytes as f64 * 8e-6 / time,
        cost / time * 100.0,
        cost / (carried.bytes as f64 * 1e-9),
    );
    Ok(())
}

fn main() -> Result<(), Error> {
    let gigabit = Shape::megabits(1000).delay_ms(10);
    measure("TCP, open line", Shape::open(), tcp)?;
    measure("TCP, 1 Gbit/s, 20 ms round trip", gigabit, tcp)?;
    measure("the same, 0.1 % loss", gigabit.loss(0.001), tcp)?;
    measure("TCP, 100 Mbit/s, 20 ms round trip", Shape::megabits(100).delay_ms(10), tcp)?;
    measure("single datagrams, open line", Shape::open(), udp)?;
    measure("single datagrams, 1 Gbit/s", gigabit, udp)
}
