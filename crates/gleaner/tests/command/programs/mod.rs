//! Small WASI programs for tests, from WebAssembly text.

/// A job of twenty elements, each with its number as the argument of `program.wasm`.
pub const ARRAY: &str = r#"
name = "array"
[[task]]
name = "square"
runtime = "wasm"
program = "program.wasm"
args = ["{index}"]
each = "1..20"
"#;

const IMPORTS: &str = r#"
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  ;; Argument 1 as a number.
  (func $number (result i32) (local $at i32) (local $value i32)
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (drop (call $args (i32.const 16) (i32.const 1024)))
    (local.set $at (i32.load (i32.const 20)))
    (block $end (loop $next
      (br_if $end (i32.eqz (i32.load8_u (local.get $at))))
      (local.set $value (i32.add (i32.mul (local.get $value) (i32.const 10))
                                 (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $next)))
    (local.get $value))
  (func $sleep (param $milliseconds i64)
    (i32.store8 (i32.const 520) (i32.const 0))
    (i32.store (i32.const 528) (i32.const 1))
    (i64.store (i32.const 536) (i64.mul (local.get $milliseconds) (i64.const 1000000)))
    (drop (call $poll (i32.const 512) (i32.const 600) (i32.const 1) (i32.const 700))))
  (func $say (param $to i32) (param $from i32) (param $bytes i32)
    (i32.store (i32.const 8) (local.get $from))
    (i32.store (i32.const 12) (local.get $bytes))
    (drop (call $write (local.get $to) (i32.const 8) (i32.const 1) (i32.const 0))))
"#;

fn module(body: &str) -> Vec<u8> {
    wat::parse_str(format!("(module {IMPORTS} {body})")).expect("a valid module")
}

/// Writes its first argument, as text, to stdout.
pub fn echo() -> Vec<u8> {
    module(
        r#"(func (export "_start")
            (drop (call $number))
            (call $say (i32.const 1) (i32.load (i32.const 20))
                (i32.sub (i32.add (i32.const 1023) (i32.load (i32.const 4))) (i32.load (i32.const 20)))))"#,
    )
}

/// Sleeps, then writes `bytes` bytes that depend on its first argument; see [`pattern`].
pub fn patterned(milliseconds: u64, bytes: u32) -> Vec<u8> {
    assert!(bytes < 60_000, "the pattern fits the memory");
    module(&format!(
        r#"(func (export "_start") (local $number i32) (local $at i32)
            (local.set $number (call $number))
            (call $sleep (i64.const {milliseconds}))
            (loop $next
              (i32.store8 (i32.add (i32.const 65536) (local.get $at))
                (i32.add (i32.mul (local.get $number) (i32.const 31)) (i32.mul (local.get $at) (i32.const 7))))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br_if $next (i32.lt_u (local.get $at) (i32.const {bytes}))))
            (call $say (i32.const 1) (i32.const 65536) (i32.const {bytes})))"#
    ))
}

/// What [`patterned`] writes for this argument.
pub fn pattern(number: u64, bytes: u32) -> Vec<u8> {
    let number = u32::try_from(number).expect("a small number");
    (0..bytes).map(|at| (number.wrapping_mul(31).wrapping_add(at.wrapping_mul(7)) & 255) as u8).collect()
}

/// Says a line on stderr, sleeps, says another and ends.
pub fn talkative(milliseconds: u64) -> Vec<u8> {
    module(&format!(
        r#"(data (i32.const 2048) "first words\nlast words\n")
          (func (export "_start")
            (call $say (i32.const 2) (i32.const 2048) (i32.const 12))
            (call $sleep (i64.const {milliseconds}))
            (call $say (i32.const 2) (i32.const 2060) (i32.const 11)))"#
    ))
}

/// Writes a file that it reads to stdout.
pub fn copying(path: &str) -> Vec<u8> {
    let (length, buffer) = (path.len(), 65_536);
    wat::parse_str(format!(
        r#"(module
          (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "path_open"
            (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
          (memory (export "memory") 2)
          (data (i32.const 100) "{path}")
          (func (export "_start")
            (if (call $open (i32.const 3) (i32.const 1) (i32.const 100) (i32.const {length}) (i32.const 0)
                (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 12)) (then unreachable))
            (block $end (loop $next
              (i32.store (i32.const 0) (i32.const {buffer}))
              (i32.store (i32.const 4) (i32.const 60000))
              (if (call $read (i32.load (i32.const 12)) (i32.const 0) (i32.const 1) (i32.const 8)) (then unreachable))
              (br_if $end (i32.eqz (i32.load (i32.const 8))))
              (i32.store (i32.const 4) (i32.load (i32.const 8)))
              (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
              (br $next)))))"#
    ))
    .expect("a valid module")
}

/// Never ends.
pub fn endless() -> Vec<u8> {
    module(r#"(func (export "_start") (loop $for_ever (br $for_ever)))"#)
}

/// Says why on stderr and traps.
pub fn broken() -> Vec<u8> {
    module(
        r#"(data (i32.const 2048) "out of luck\n")
          (func (export "_start") (call $say (i32.const 2) (i32.const 2048) (i32.const 12)) unreachable)"#,
    )
}
