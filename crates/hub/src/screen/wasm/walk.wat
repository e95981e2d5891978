;; The wasm test: a walk of which each step needs the one before. Its argument has 32 hexadecimal digits: where it
;; begins and how many steps it has. Eight bytes, where it ends, go to standard output.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  ;; Sixteen digits at an address.
  (func $number (param $at i32) (result i64)
    (local $left i32) (local $digit i32) (local $number i64)
    (local.set $left (i32.const 16))
    (loop $next
      (local.set $digit (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)))
      ;; Letters begin 49 behind the first digit, and stand for ten and more.
      (if (i32.ge_u (local.get $digit) (i32.const 49))
        (then (local.set $digit (i32.sub (local.get $digit) (i32.const 39)))))
      (local.set $number (i64.or (i64.shl (local.get $number) (i64.const 4)) (i64.extend_i32_u (local.get $digit))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $next (local.get $left)))
    (local.get $number))
  (func (export "_start")
    (local $text i32) (local $state i64) (local $left i64)
    ;; Two arguments, the program's name among them, in a page at most.
    (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
    (if (i32.or (i32.ne (i32.load (i32.const 0)) (i32.const 2)) (i32.gt_u (i32.load (i32.const 4)) (i32.const 4096)))
      (then (call $proc_exit (i32.const 2))))
    (drop (call $args_get (i32.const 16) (i32.const 1024)))
    (local.set $text (i32.load (i32.const 20)))
    (local.set $state (call $number (local.get $text)))
    (local.set $left (call $number (i32.add (local.get $text) (i32.const 16))))
    (block $done
      (loop $walk
        (br_if $done (i64.eqz (local.get $left)))
        (local.set $state
          (i64.add
            (i64.mul
              (i64.xor (local.get $state) (i64.shr_u (local.get $state) (i64.const 29)))
              (i64.const 0x9e3779b97f4a7c15))
            (i64.const 0x2545f4914f6cdd1d)))
        (local.set $left (i64.sub (local.get $left) (i64.const 1)))
        (br $walk)))
    (i64.store (i32.const 8192) (local.get $state))
    (i32.store (i32.const 8200) (i32.const 8192))
    (i32.store (i32.const 8204) (i32.const 8))
    (drop (call $fd_write (i32.const 1) (i32.const 8200) (i32.const 1) (i32.const 8208)))))
