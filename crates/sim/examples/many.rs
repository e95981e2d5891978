fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let (mut from, end) = (args[0], args[0] + args[1]);
    let mut bad = 0;
    while from < end {
        match gleaner_sim::many(from, 250.min(end - from), 2) {
            Ok(s) => println!("{from}: {s:?}"),
            Err(v) => {
                println!("VIOLATION {v}");
                bad += 1;
                if bad > 6 {
                    break;
                }
            }
        }
        from += 250;
    }
}
