//! The program of the container test, for Linux: no library, no loader, nothing around it.
//!
//! `build.rs` compiles it for the machine that the hub runs on. It takes one argument of 32 hexadecimal digits (where its
//! walk begins, and how many steps it has) and writes 16 of them, where the walk ends. `walk.rs` is the same walk.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::panic::PanicInfo;

/// The digits of a number.
const DIGITS: usize = 16;

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {begin}", "ud2", begin = sym begin);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x0, sp", "bl {begin}", "brk #1", begin = sym begin);

/// The stack as the system leaves it: how many arguments, then where each of them is.
unsafe extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: that is how Linux starts every program; an argument ends with a zero, and nothing behind that is read.
    let walked = unsafe {
        if stack.read() < 2 {
            None
        } else {
            let text = stack.add(2).read() as *const u8;
            number(text).and_then(|first| Some(walk(first, number(text.add(DIGITS))?)))
        }
    };
    match walked {
        Some(state) => {
            write(&shown(state));
            exit(0)
        }
        None => exit(2),
    }
}

/// # Safety
/// The text ends with a zero.
unsafe fn number(text: *const u8) -> Option<u64> {
    let mut number = 0;
    let mut at = 0;
    while at < DIGITS {
        // SAFETY: every byte before this one was a digit, so the text has not ended.
        let digit = match unsafe { text.add(at).read() } {
            byte @ b'0'..=b'9' => byte - b'0',
            byte @ b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        number = number << 4 | digit as u64;
        at += 1;
    }
    Some(number)
}

/// Sixteen digits and the end of a line.
fn shown(number: u64) -> [u8; 17] {
    let mut text = [b'\n'; 17];
    let mut at = 0;
    while at < DIGITS {
        let digit = (number >> (60 - 4 * at)) as u8 & 15;
        text[at] = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
        at += 1;
    }
    text
}

fn walk(first: u64, steps: u64) -> u64 {
    let mut state = first;
    let mut left = steps;
    while left > 0 {
        state = (state ^ state >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x2545_f491_4f6c_dd1d);
        left -= 1;
    }
    state
}

#[cfg(target_arch = "x86_64")]
fn write(bytes: &[u8; 17]) {
    // SAFETY: the call reads seventeen bytes that are there.
    unsafe {
        asm!("syscall", inlateout("rax") 1_usize => _, in("rdi") 1, in("rsi") bytes, in("rdx") 17, out("rcx") _, out("r11") _);
    }
}

#[cfg(target_arch = "aarch64")]
fn write(bytes: &[u8; 17]) {
    // SAFETY: the call reads seventeen bytes that are there.
    unsafe {
        asm!("svc #0", in("x8") 64, inlateout("x0") 1_usize => _, in("x1") bytes, in("x2") 17);
    }
}

#[cfg(target_arch = "x86_64")]
fn exit(code: usize) -> ! {
    // SAFETY: nothing comes after it.
    unsafe { asm!("syscall", in("rax") 60, in("rdi") code, options(noreturn)) }
}

#[cfg(target_arch = "aarch64")]
fn exit(code: usize) -> ! {
    // SAFETY: nothing comes after it.
    unsafe { asm!("svc #0", in("x8") 93, in("x0") code, options(noreturn)) }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(3)
}
