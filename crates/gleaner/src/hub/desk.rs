//! The desk beside a hub: it serves people in a browser and programs at the hub's own address.
use gleaner_client::Token;
use gleaner_desk::{Config, Desk, Limits, router, routes};
use gleaner_hub::{Extra, Need, Routes};

/// Opens the desk in the hub's folder, once it is known where the hub is.
pub fn beside() -> Extra {
    Extra::new(|place| {
        let config = Config {
            dir: place.dir.join("desk"),
            hub: place.url.clone(),
            token: Token::read(&place.token_file)?,
            limits: Limits::default(),
        };
        Ok(Routes { router: router(Desk::open(config)?), needs: needs() })
    })
}

/// What the hub's guard is to ask of callers of the desk's routes.
fn needs() -> Vec<(&'static str, &'static str, Need)> {
    let need = |need| match need {
        gleaner_desk::Need::Nothing => Need::Nothing,
        gleaner_desk::Need::Read => Need::Read,
        gleaner_desk::Need::Submit => Need::Submit,
        gleaner_desk::Need::Spend => Need::Spend,
    };
    routes().into_iter().map(|route| (route.method, route.path, need(route.need))).collect()
}
