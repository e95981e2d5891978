//! Whether an application fills the screen, where that can be known: from an X server. Wayland tells nobody.
use super::Session;

/// Whether one does; `None` if nobody says. Under Wayland an old application may still be seen, so yes is believed
/// and no is not.
pub fn read(session: &Session) -> Option<bool> {
    if !session.is_x11() {
        return None;
    }
    let active = session.ask("xprop", &["-root", "_NET_ACTIVE_WINDOW"])?;
    let fills = match window(&active)? {
        None => false,
        Some(id) => fills(&session.ask("xprop", &["-id", id, "_NET_WM_STATE"])?),
    };
    if session.is_wayland() && !fills { None } else { Some(fills) }
}

/// The window in `_NET_ACTIVE_WINDOW(WINDOW): window id # 0x3a00007`: the outer `None` if there is no such
/// property, the inner if no window is active.
fn window(text: &str) -> Option<Option<&str>> {
    let (_, id) = text.split_once("window id # ")?;
    let id = id.split([',', '\n']).next()?.trim();
    let is_id = id.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_id.then_some(Some(id).filter(|id| *id != "0x0"))
}

fn fills(text: &str) -> bool {
    text.contains("_NET_WM_STATE_FULLSCREEN")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_active_window_is_found() {
        let text = "_NET_ACTIVE_WINDOW(WINDOW): window id # 0x3a00007\n";
        assert_eq!(window(text), Some(Some("0x3a00007")));
        assert_eq!(window("_NET_ACTIVE_WINDOW(WINDOW): window id # 0x0, 0x0\n"), Some(None));
        assert_eq!(window("_NET_ACTIVE_WINDOW:  not found.\n"), None);
        assert_eq!(window("window id # 0x1; rm -rf\n"), None);
    }

    #[test]
    fn its_state_says_whether_it_fills_the_screen() {
        assert!(fills("_NET_WM_STATE(ATOM) = _NET_WM_STATE_FULLSCREEN, _NET_WM_STATE_FOCUSED\n"));
        assert!(!fills("_NET_WM_STATE(ATOM) = _NET_WM_STATE_MAXIMIZED_VERT\n"));
    }

    #[test]
    fn without_a_screen_nothing_is_known() {
        assert_eq!(read(&Session::default()), None);
    }
}
