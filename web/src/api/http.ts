// Requests to the hub, and what it says when it refuses one.

const ROOT = "/api/v1";

/** A refusal, with its reason and what to do. */
export class Refusal extends Error {
  override name = "Refusal";
  constructor(
    readonly status: number,
    /** A stable word for programs. */
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly at: string | null = null,
    readonly line: number | null = null,
    readonly retryAfter: number | null = null,
  ) {
    super(detail || title);
  }
}

/** The hub did not answer at all. */
export class Unreachable extends Error {
  override name = "Unreachable";
  constructor() {
    super("The hub does not answer. The page tries again by itself.");
  }
}

let csrf: string | null = null;

/** What is sent with everything that changes something, so that no other page can. */
export function setCsrf(value: string | null): void {
  csrf = value;
}

/** The address of a route, for links and pictures. */
export function address(path: string): string {
  return `${ROOT}${path}`;
}

/** A part of an address, such as a name with spaces. */
export function part(text: string | number): string {
  return encodeURIComponent(String(text));
}

/** A path of a file, each of its parts encoded. */
export function parts(path: string): string {
  return path.split("/").map(part).join("/");
}

/** Parameters of a question; what is not given is left out. */
export function question(values: Record<string, string | number | boolean | null | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  const text = search.toString();
  return text ? `?${text}` : "";
}

export interface Asked {
  method?: string;
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Sends a request and gives the answer, whatever its status. */
export async function send(path: string, asked: Asked = {}): Promise<Response> {
  return sendTo(address(path), asked);
}

async function sendTo(where: string, asked: Asked): Promise<Response> {
  const method = asked.method ?? "GET";
  const headers = new Headers(asked.headers);
  if (asked.json !== undefined) headers.set("content-type", "application/json");
  if (csrf && method !== "GET" && method !== "HEAD") headers.set("x-gleaner-csrf", csrf);
  const body = asked.json !== undefined ? JSON.stringify(asked.json) : asked.body;
  try {
    return await fetch(where, { method, headers, body, signal: asked.signal, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Unreachable();
  }
}

/** Sends a request; a refusal is an error. */
export async function call(path: string, asked: Asked = {}): Promise<Response> {
  const response = await send(path, asked);
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Fetches from an address that the hub itself gave, such as the `href` of a result; never from another host. */
export async function callAt(href: string): Promise<Response> {
  if (!href.startsWith(`${ROOT}/`)) throw new Error(`The hub named an address that is not its own: ${href}`);
  const response = await sendTo(href, {});
  if (!response.ok) throw await refusal(response);
  return response;
}

/** Sends a request whose answer is JSON, or nothing. */
export async function ask<T>(path: string, asked: Asked = {}): Promise<T> {
  const response = await call(path, asked);
  const text = await response.text();
  return (text ? JSON.parse(text) : null) as T;
}

/** Reads a refusal out of an answer that is one. */
export async function refusal(response: Response): Promise<Refusal> {
  const retry = Number(response.headers.get("retry-after"));
  const seconds = Number.isFinite(retry) && retry > 0 ? retry : null;
  const problem = await response.json().then(asProblem, () => ({}) as Partial<Problem>);
  const code = problem.code ?? problem.type ?? String(response.status);
  const title = problem.title ?? `the hub answered ${response.status}`;
  return new Refusal(response.status, code, title, problem.detail ?? "", problem.at, problem.line, seconds);
}

interface Problem {
  type: string;
  code: string;
  title: string;
  detail: string;
  at: string | null;
  line: number | null;
}

function asProblem(value: unknown): Partial<Problem> {
  return typeof value === "object" && value !== null ? (value as Partial<Problem>) : {};
}

/** A new name for something that must not be done twice. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What went wrong, in words for people. */
export function words(error: unknown): string {
  if (error instanceof Refusal) {
    const where = error.line ? `Line ${error.line}: ` : "";
    return `${where}${error.detail || error.title}`;
  }
  return error instanceof Error ? error.message : String(error);
}
