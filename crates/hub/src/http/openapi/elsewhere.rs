//! Routes whose handlers are in the data crate, which knows nothing of this document: chunks, and who fetches what.
//! Their refusals are a line of text and a code in a header, since machines read them and no people.
#![expect(dead_code, reason = "they only carry descriptions")]

#[utoipa::path(
    post,
    path = "/api/v1/chunks/missing",
    operation_id = "look_for_chunks",
    tag = "machines",
    summary = "Which chunks are here",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "32 bytes for each id"),
    responses(
        (status = 200, description = "A bit for each, set if it is here", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, description = "These are no ids", body = String, content_type = "text/plain"),
        (status = 401, description = "No valid token", body = String, content_type = "text/plain"),
        (status = 403, description = "Not allowed", body = String, content_type = "text/plain"),
        (status = 413, description = "Too many at a time", body = String, content_type = "text/plain")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) fn chunks_missing() {}

#[utoipa::path(
    post,
    path = "/api/v1/chunks/want",
    operation_id = "fetch_chunks",
    tag = "machines",
    summary = "Chunks",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "32 bytes for each id"),
    responses(
        (status = 200, description = "A frame for each, empty if it is not here", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, description = "These are no ids", body = String, content_type = "text/plain"),
        (status = 401, description = "No valid token", body = String, content_type = "text/plain"),
        (status = 403, description = "Not allowed", body = String, content_type = "text/plain"),
        (status = 413, description = "Too many at a time", body = String, content_type = "text/plain")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) fn chunks_want() {}

#[utoipa::path(
    post,
    path = "/api/v1/chunks",
    operation_id = "leave_chunks",
    tag = "machines",
    summary = "Stores chunks",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "Frames, ended by a length of zero"),
    responses(
        (status = 204, description = "They would survive a crash now"),
        (status = 400, description = "These are no chunks", body = String, content_type = "text/plain"),
        (status = 401, description = "No valid token", body = String, content_type = "text/plain"),
        (status = 403, description = "Not allowed", body = String, content_type = "text/plain"),
        (status = 413, description = "Too much at a time", body = String, content_type = "text/plain"),
        (status = 507, description = "No room", body = String, content_type = "text/plain")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) fn chunks_give() {}

#[utoipa::path(
    post,
    path = "/api/v1/swarm/{root}",
    operation_id = "announce_holdings",
    tag = "machines",
    summary = "Tells who fetches or has a dataset, and hears of the others",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "An announcement, as postcard"),
    responses(
        (status = 200, description = "A signed grant and the others, as postcard", body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, description = "This is no announcement", body = String, content_type = "text/plain"),
        (status = 401, description = "No valid token", body = String, content_type = "text/plain"),
        (status = 403, description = "Not allowed", body = String, content_type = "text/plain"),
        (status = 413, description = "Too long", body = String, content_type = "text/plain")
    ),
    security(("operator" = []), ("worker" = []))
)]
pub(super) fn swarm() {}
