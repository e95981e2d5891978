//! The desk beside a hub: it serves people in a browser and programs at the hub's own address.
use gleaner_client::Token;
use gleaner_desk::{Config, Desk, Limits, router};
use gleaner_hub::Extra;

/// Opens the desk in the hub's folder, once it is known where the hub is.
pub fn beside() -> Extra {
    Extra::new(|place| {
        let config = Config {
            dir: place.dir.join("desk"),
            hub: place.url.clone(),
            token: Token::read(&place.token_file)?,
            limits: Limits::default(),
        };
        Ok(router(Desk::open(config)?))
    })
}
