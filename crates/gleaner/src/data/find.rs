//! Which dataset is meant.
use anyhow::Result;
use gleaner_client::Client;
use gleaner_wire::api::DatasetView;

use crate::failure::Advice;

/// The dataset with this name, root or beginning of a root.
pub async fn find(client: &Client, text: &str) -> Result<DatasetView> {
    let (all, account) = (client.data().datasets().await?, client.account()?);
    let root = text.strip_prefix("data:").unwrap_or(text).split(':').next().unwrap_or(text);
    if let Some(view) = account.find(&all, text) {
        return Ok(view.clone());
    }
    let mut begun = all.iter().filter(|view| root.len() >= 6 && view.data.root.id.to_string().starts_with(root));
    match (begun.next(), begun.next()) {
        (Some(view), None) => Ok(view.clone()),
        (Some(_), Some(_)) => Err(Advice::new(format!("`{text}` may be several datasets"), "write more of it").into()),
        (None, _) => {
            let help = "`gleaner data list` shows those that this hub keeps";
            Err(Advice::new(format!("there is no dataset `{text}`"), help).into())
        }
    }
}

/// The name of a dataset, if it has one that opens here.
pub fn name(client: &Client, view: &DatasetView) -> String {
    client.account().ok().and_then(|account| account.open_label(&view.label)).unwrap_or_default()
}
