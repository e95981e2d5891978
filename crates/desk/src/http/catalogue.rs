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
#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    /// Only those for this.
    kind: Option<Kind>,
    /// What `next` said.
    cursor: Option<String>,
    /// At most 100.
    limit: Option<u32>,
}

/// Some templates.
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = TemplatesPage)]
pub(super) struct Templates {
    items: Vec<TemplateView>,
    /// Where to go on.
    next: Option<String>,
}

/// What is filled in.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TemplateInputs)]
pub(super) struct Inputs {
    /// By their names.
    #[schema(value_type = std::collections::BTreeMap<String, Value>)]
    inputs: Map<String, Value>,
}

/// `GET /api/v1/catalogue`.
#[utoipa::path(
    get,
    path = "/api/v1/catalogue",
    operation_id = "list_templates",
    tag = "catalogue",
    summary = "Templates of jobs",
    params(Listing),
    responses(
        (status = 200, description = "Some of them, those that came with the program first", body = Templates)
    )
)]
pub(super) async fn list(
    State(desk): State<Arc<Desk>>,
    Parameters(listing): Parameters<Listing>,
) -> Result<axum::Json<Templates>, Refusal> {
    let limit = listing.limit.unwrap_or(LISTED_MAX).clamp(1, LISTED_MAX);
    let (items, next) = desk.catalogue(listing.kind, listing.cursor.as_deref(), limit).await?;
    Ok(axum::Json(Templates { items, next }))
}

/// `POST /api/v1/catalogue`.
#[utoipa::path(
    post,
    path = "/api/v1/catalogue",
    operation_id = "publish_template",
    tag = "catalogue",
    summary = "Publishes a template, or a new version of one",
    request_body = Publication,
    responses(
        (status = 201, description = "The template", body = TemplateView, headers(("location" = String, description = "Where it is"))),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's"),
        (status = 409, description = "`name-taken`: somebody else has published one of this name"),
        (status = 422, description = "`template-refused`: what is wrong with it"),
        (status = 429, description = "`too-many`: the account has published as many as it may; `too-often`: wait as long as `Retry-After` says")
    )
)]
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
#[utoipa::path(
    get,
    path = "/api/v1/catalogue/{template}",
    operation_id = "show_template",
    tag = "catalogue",
    summary = "One template",
    params(("template" = String, Path, description = "The template's name")),
    responses(
        (status = 200, description = "The template", body = TemplateView),
        (status = 404, description = "`not-found`: there is none")
    )
)]
pub(super) async fn show(
    State(desk): State<Arc<Desk>>,
    Path(template): Path<String>,
) -> Result<axum::Json<TemplateView>, Refusal> {
    Ok(axum::Json(desk.template(&template).await?))
}

/// `DELETE /api/v1/catalogue/{template}`.
#[utoipa::path(
    delete,
    path = "/api/v1/catalogue/{template}",
    operation_id = "remove_template",
    tag = "catalogue",
    summary = "Takes a template of one's own out of the catalogue",
    params(("template" = String, Path, description = "The template's name")),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "`not-found`: there is no such thing, or it is somebody else's")
    )
)]
pub(super) async fn remove(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(template): Path<String>,
) -> Result<StatusCode, Refusal> {
    desk.unpublish(&asker, &template).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /api/v1/catalogue/{template}/picture`.
#[utoipa::path(
    get,
    path = "/api/v1/catalogue/{template}/picture",
    operation_id = "show_template_picture",
    tag = "catalogue",
    summary = "A template's picture",
    params(("template" = String, Path, description = "The template's name")),
    responses(
        (status = 200, description = "The picture", body = Vec<u8>, content_type = "image/*"),
        (status = 404, description = "`not-found`: there is none")
    )
)]
pub(super) async fn picture(State(desk): State<Arc<Desk>>, Path(template): Path<String>) -> Result<Response, Refusal> {
    let picture = desk.picture(&template).await?;
    let mut headers = harmless(image_type(&picture).unwrap_or("application/octet-stream"), &template, true);
    // Its address changes when it does.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Ok((headers, picture).into_response())
}

/// `POST /api/v1/catalogue/{template}/render`.
#[utoipa::path(
    post,
    path = "/api/v1/catalogue/{template}/render",
    operation_id = "render_template",
    tag = "catalogue",
    summary = "A job file out of a template and what is filled in",
    params(("template" = String, Path, description = "The template's name")),
    request_body = Inputs,
    responses(
        (status = 200, description = "The job file", body = Rendered),
        (status = 404, description = "`not-found`: there is none"),
        (status = 422, description = "`template-refused`: what does not fit")
    )
)]
pub(super) async fn render(
    State(desk): State<Arc<Desk>>,
    Who(asker): Who,
    Path(template): Path<String>,
    Json(inputs): Json<Inputs>,
) -> Result<axum::Json<Rendered>, Refusal> {
    Ok(axum::Json(desk.render(&asker, &template, &inputs.inputs).await?))
}
