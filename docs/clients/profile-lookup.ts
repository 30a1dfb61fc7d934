// A client of the Profile Lookup API for Node 22.18 or newer, Bun and Deno, without dependencies. It reads an API key's
// secret from the environment variable SECRET, so use it on a server or in a bot, not in a web page:
//
//   import { get } from "./profile-lookup.ts";
//   const profile = await get(`/lookup/username/${encodeURIComponent("Ada")}`);

const BASE = "http://127.0.0.1:3000/api";
const MAX_CACHED = 1000;

// An error response: its status, its `X-Error-Code`, such as `not_found`, and its sentence as the message.
export class Refusal extends Error {
  status: number;
  code: string | null;
  constructor(status: number, code: string | null, sentence: string) {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

const cache = new Map<string, { etag: string; body: unknown }>();

// Returns the JSON at a path. Honours `Retry-After` for up to `maxSeconds` in total, then throws the Refusal.
export async function get(path: string, maxSeconds = 60): Promise<unknown> {
  const known = cache.get(path);
  const headers = { Authorization: `Bearer ${process.env.SECRET}`, ...(known && { "If-None-Match": known.etag }) };
  for (let left = maxSeconds; ; ) {
    const response = await fetch(BASE + path, { headers, redirect: "error", signal: AbortSignal.timeout(30_000) });
    if (response.status === 304 && known) return known.body;
    if (response.ok) return keep(path, response.headers.get("ETag"), await response.json());
    const { error } = (await response.json().catch(() => ({ error: response.statusText }))) as { error: string };
    const seconds = Number(response.headers.get("Retry-After"));
    const isTemporary = [429, 503].includes(response.status) && seconds > 0 && seconds <= left;
    if (!isTemporary) throw new Refusal(response.status, response.headers.get("X-Error-Code"), error);
    await new Promise((done) => setTimeout(done, seconds * 1000));
    left -= seconds;
  }
}

function keep(path: string, etag: string | null, body: unknown): unknown {
  for (const oldest of cache.keys()) if (cache.size >= MAX_CACHED) cache.delete(oldest);
  if (etag !== null) cache.set(path, { etag, body });
  return body;
}
