//! WASI calls that touch no file: arguments, clock, chance and waiting.
use std::time::Duration;

use super::errno::Errno;
use super::guest::Guest;
use super::host::Host;
use super::stop::Fail;

const CLOCKS: std::ops::Range<u32> = 0..4;
/// The most events that a program waits for at a time.
const SUBSCRIPTIONS_MAX: u32 = 1024;
const SUBSCRIPTION_BYTES: u32 = 48;
const EVENT_BYTES: u32 = 32;
const ABSOLUTE: u16 = 1;

pub(crate) fn args_sizes_get(host: &mut Host, guest: &mut Guest<'_>, count: u32, bytes: u32) -> Result<(), Fail> {
    let total = host.args.iter().map(|arg| arg.len() as u32 + 1).sum();
    guest.put_u32(count, host.args.len() as u32)?;
    Ok(guest.put_u32(bytes, total)?)
}

pub(crate) fn args_get(host: &mut Host, guest: &mut Guest<'_>, list: u32, text: u32) -> Result<(), Fail> {
    let mut at = text;
    for (position, arg) in (0_u32..).zip(&host.args) {
        guest.put_u32(list.checked_add(position * 4).ok_or(Errno::FAULT)?, at)?;
        guest.put(at, arg.as_bytes())?;
        let end = at.checked_add(arg.len() as u32).ok_or(Errno::FAULT)?;
        guest.put(end, &[0])?;
        at = end + 1;
    }
    Ok(())
}

pub(crate) fn environ_sizes_get(_: &mut Host, guest: &mut Guest<'_>, count: u32, bytes: u32) -> Result<(), Fail> {
    guest.put_u32(count, 0)?;
    Ok(guest.put_u32(bytes, 0)?)
}

pub(crate) fn environ_get(_: &mut Host, _: &mut Guest<'_>, _list: u32, _text: u32) -> Result<(), Fail> {
    Ok(())
}

pub(crate) fn clock_res_get(_: &mut Host, guest: &mut Guest<'_>, clock: u32, result: u32) -> Result<(), Fail> {
    if !CLOCKS.contains(&clock) {
        return Err(Errno::INVALID.into());
    }
    Ok(guest.put_u64(result, 1_000)?)
}

pub(crate) fn clock_time_get(
    host: &mut Host,
    guest: &mut Guest<'_>,
    clock: u32,
    _precision: u64,
    result: u32,
) -> Result<(), Fail> {
    if !CLOCKS.contains(&clock) {
        return Err(Errno::INVALID.into());
    }
    Ok(guest.put_u64(result, host.look_at_clock())?)
}

pub(crate) fn random_get(host: &mut Host, guest: &mut Guest<'_>, buffer: u32, len: u32) -> Result<(), Fail> {
    host.fill_random(guest.slice_mut(buffer, len)?);
    Ok(())
}

pub(crate) fn sched_yield(host: &mut Host, _: &mut Guest<'_>) -> Result<(), Fail> {
    Ok(host.watch.check()?)
}

/// One thing a program waits for.
struct Subscription {
    user_data: u64,
    kind: u8,
    /// When its clock rings, on the program's own clock; files are always ready.
    rings: Option<u64>,
}

fn subscription(host: &Host, guest: &Guest<'_>, at: u32) -> Result<Subscription, Errno> {
    let field = |offset: u32| at.checked_add(offset).ok_or(Errno::FAULT);
    let (user_data, kind) = (guest.u64(at)?, guest.u8(field(8)?)?);
    let rings = match kind {
        0 => {
            let (timeout, flags) = (guest.u64(field(24)?)?, guest.u16(field(40)?)?);
            let absolute = flags & ABSOLUTE != 0;
            Some(if absolute { timeout } else { host.clock().saturating_add(timeout) })
        }
        1 | 2 => None,
        _ => return Err(Errno::INVALID),
    };
    Ok(Subscription { user_data, kind, rings })
}

/// Waits for the first of several clocks. The waiting is real, so a task can hold a device; the clock that the
/// program sees moves by what it asked for, not by what passed.
pub(crate) fn poll_oneoff(
    host: &mut Host,
    guest: &mut Guest<'_>,
    subscriptions: u32,
    events: u32,
    count: u32,
    result: u32,
) -> Result<(), Fail> {
    if count == 0 || count > SUBSCRIPTIONS_MAX {
        return Err(Errno::INVALID.into());
    }
    let entry = |number: u32| subscriptions.checked_add(number * SUBSCRIPTION_BYTES).ok_or(Errno::FAULT);
    let awaited = (0..count).map(|number| subscription(host, guest, entry(number)?));
    let awaited = awaited.collect::<Result<Vec<_>, Errno>>()?;
    let now = host.clock();
    let first = awaited.iter().map(|one| one.rings.unwrap_or(now)).min().unwrap_or(now).max(now);
    if first > now {
        // Whoever follows the log should not have to wait as well.
        host.log.flush();
    }
    host.watch.sleep(Duration::from_nanos(first - now))?;
    host.advance_clock(first - now);
    let due = awaited.iter().filter(|one| one.rings.is_none_or(|rings| rings <= first));
    let mut written = 0;
    for one in due {
        let at = events.checked_add(written * EVENT_BYTES).ok_or(Errno::FAULT)?;
        let mut event = [0; EVENT_BYTES as usize];
        event[..8].copy_from_slice(&one.user_data.to_le_bytes());
        event[10] = one.kind;
        event[16] = u8::from(one.kind != 0);
        guest.put(at, &event)?;
        written += 1;
    }
    Ok(guest.put_u32(result, written)?)
}
