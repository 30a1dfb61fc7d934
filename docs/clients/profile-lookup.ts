// A client of the Profile Lookup API for Node 22.18 or newer, Bun or Deno. It needs nothing installed. The environment
// variable SECRET has the secret of an API key, so this is for a server or a bot, not for a web page:
//
//   import { get } from "./profile-lookup.ts";
//   const profile = await get(`/lookup/username/${encodeURIComponent("Ada")}`);

const BASE = "http://127.0.0.1:3000/api";
const MOST_CACHED = 1000;

// A refusal: its status, its `X-Error-Code`, such as `not_found`, and its sentence as the message.
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

// Gets the JSON at a path. Where it is told to wait, it does, for `mostSeconds` in all; then it throws the refusal.
export async function get(path: string, mostSeconds = 60): Promise<unknown> {
  const known = cache.get(path);
  const headers = { Authorization: `Bearer ${process.env.SECRET}`, ...(known && { "If-None-Match": known.etag }) };
  for (let left = mostSeconds; ; ) {
    const answer = await fetch(BASE + path, { headers, redirect: "error", signal: AbortSignal.timeout(30_000) });
    if (answer.status === 304 && known) return known.body;
    if (answer.ok) return keep(path, answer.headers.get("ETag"), await answer.json());
    const { error } = (await answer.json().catch(() => ({ error: answer.statusText }))) as { error: string };
    const seconds = Number(answer.headers.get("Retry-After"));
    const isPassing = [429, 503].includes(answer.status) && seconds > 0 && seconds <= left;
    if (!isPassing) throw new Refusal(answer.status, answer.headers.get("X-Error-Code"), error);
    await new Promise((done) => setTimeout(done, seconds * 1000));
    left -= seconds;
  }
}

function keep(path: string, etag: string | null, body: unknown): unknown {
  for (const oldest of cache.keys()) if (cache.size >= MOST_CACHED) cache.delete(oldest);
  if (etag !== null) cache.set(path, { etag, body });
  return body;
}
