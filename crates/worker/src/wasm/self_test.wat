;; The self-test of the wasm runtime, and its measure of speed: as many steps of a walk as its argument has
;; times ten million, then the last state, four bytes, to standard output.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (local $state i32) (local $left i32)
    (drop (call $args_sizes_get (i32.const 16) (i32.const 20)))
    ;; One argument beside the program name for every ten million steps.
    (local.set $left (i32.mul (i32.sub (i32.load (i32.const 16)) (i32.const 1)) (i32.const 10000000)))
    (local.set $state (i32.const 1))
    (loop $walk
      (local.set $state (i32.xor (local.get $state) (i32.shl (local.get $state) (i32.const 13))))
      (local.set $state (i32.xor (local.get $state) (i32.shr_u (local.get $state) (i32.const 17))))
      (local.set $state (i32.xor (local.get $state) (i32.shl (local.get $state) (i32.const 5))))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br_if $walk (i32.gt_s (local.get $left) (i32.const 0))))
    (i32.store (i32.const 8) (local.get $state))
    (i32.store (i32.const 0) (i32.const 8))
    (i32.store (i32.const 4) (i32.const 4))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))))
