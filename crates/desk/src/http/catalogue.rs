//! The catalogue of templates.
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::asker::Who;
use super::body::{Json, Parameters};
use super::disposition::harmless;
use super::problem::Refusal;
use crate::catalogue::{LISTED_MAX, Publication, Rendered};
use crate::results::image_type;
use crate::{Desk, Kind, TemplateView};

/// Which templates are wanted.
#[derive(Deserialize)]
pub(super) struct Listing {
    kind: Option<Kind>,
    cursor: Option<String>,
    limit: Option<u32>,
}

/// Some templates.
#[derive(Serialize)]
pub(super) struct Templates {
    items: Vec<TemplateView>,
    next: Option<String>,
}

/// What is filled in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inputs {
    inputs: Map<String, Value>,
}

/// `GET /api/v1/catalogue`.
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Parameters(listing): Parameters<Listing>,
) -> Result<axum::Json<Templates>, Refusal> {
    let limit = listing.limit.unwrap_or(LISTED_MAX).clamp(1, LISTED_MAX);
    let (items, next) = desk.catalogue(listing.kind, listing.cursor.as_deref(), limit).await?;
    Ok(axum::Json(Templates { items, next }))
}

/// `POST /api/v1/catalogue`.
pub(super) async fn publish(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Json(publication): Json<Publication>,
) -> Result<Response, Refusal> {
    let view = desk.publish(&asker, &publication).await?;
    let location = format!("/api/v1/catalogue/{}", view.name);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], axum::Json(view)).into_response())
}

/// `GET /api/v1/catalogue/{template}`.
pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    Path(template): Path<String>,
) -> Result<axum::Json<TemplateView>, Refusal> {
    Ok(axum::Json(desk.template(&template).await?))
}

/// `DELETE /api/v1/catalogue/{template}`.
pub(super) async fn remove(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(template): Path<String>,
) -> Result<StatusCode, Refusal> {
    desk.unpublish(&asker, &template).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /api/v1/catalogue/{template}/picture`.
pub(super) async fn picture(State(desk): State<Arc<Desk>>, Path(template): Path<String>) -> Result<Response, Refusal> {
    let picture = desk.picture(&template).await?;
    let mut headers = harmless(image_type(&picture).unwrap_or("application/octet-stream"), &template, true);
    // Its address changes when it does.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Ok((headers, picture).into_response())
}

/// `POST /api/v1/catalogue/{template}/render`.
pub(super) async fn render(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(template): Path<String>,
    Json(inputs): Json<Inputs>,
) -> Result<axum::Json<Rendered>, Refusal> {
    Ok(axum::Json(desk.render(&asker, &template, &inputs.inputs).await?))
}
