import { secretOf, workingKeys } from './database.ts';
import type { Question } from './load.ts';
import { boardOf, linksBody, profileBody, usernameOf, viewsOf } from './profiles.ts';

// The requests of the cases. The right response to each follows from the generated data alone.

/** The number of different requests formatted before a round. */
export const DISTINCT = 100_000;

/** The number of profiles that are looked up repeatedly. */
export const HOT = 1_000;

const LIMIT = 50;

/** The header with the n-th key. */
export function bearer(key = 0): Record<string, string> {
  return { Authorization: `Bearer ${secretOf(key)}` };
}

const KEY = bearer();

/** Makes `count` questions. */
export function many(count: number, make: (at: number) => Question): Question[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** A whole number from 1 to `max`. */
export function anyId(max: number): number {
  return 1 + Math.floor(Math.random() * max);
}

/** {@link HOT} profiles, spread over all. */
export function hotIds(profiles: number): number[] {
  return Array.from({ length: HOT }, (_, at) => 1 + Math.floor((at * profiles) / HOT));
}

/** A lookup by username. */
export function lookup(id: number, headers = KEY): Question {
  const path = `/api/lookup/username/${usernameOf(id)}`;
  return { path, headers, isRight: ({ status, body }) => status === 200 && body === profileBody(id) };
}

/** A lookup while imports change the profile's views, up to this version. */
export function changingLookup(id: number, versions: number): Question {
  const isRight: Question['isRight'] = ({ status, body }) => {
    const version = status === 200 ? JSON.parse(body).viewsCount - viewsOf(id) : -1;
    return version >= 0 && version <= versions && body === profileBody(id, version);
  };
  return { ...lookup(id), isRight };
}

/** A lookup in which the load generator replaces `{name}`. */
export const LOOKUP_OF_NAME: Question = { path: '/api/lookup/username/{name}', headers: KEY, isRight: () => false };

/** The links of a profile. */
export function links(id: number): Question {
  const path = `/api/lookup/username/${usernameOf(id)}/links`;
  return { path, headers: KEY, isRight: ({ status, body }) => status === 200 && body === linksBody(id) };
}

/** A lookup by a client that already has the body. */
export function unchanged(id: number, etag: string): Question {
  const headers = { ...KEY, 'If-None-Match': etag };
  return {
    ...lookup(id, headers),
    isRight: ({ status, body, headers: got }) => status === 304 && body === '' && got.get('etag') === etag,
  };
}

/** A lookup of an unknown name. */
export function missing(at: number): Question {
  const path = `/api/lookup/username/nobody${(at * 7919) % 1_000_003}`;
  const sentence = '{"error":"There is no such profile."}';
  return { path, headers: KEY, isRight: ({ status, body }) => status === 404 && body === sentence };
}

/** A lookup of several profiles. */
export function batch(ids: readonly number[], headers = KEY): Question {
  const path = `/api/lookup?${ids.map((id) => `username=${usernameOf(id)}`).join('&')}`;
  const entries = () => ids.map((id) => `{"query":{"username":"${usernameOf(id)}"},"profile":${profileBody(id)}}`);
  const right = () => `{"profiles":[${entries().join(',')}],"missing":[]}`;
  return { path, headers, isRight: ({ status, body }) => status === 200 && body === right() };
}

/** Pages of the leaderboard at every offset. */
export function boardPages(profiles: number): Question[] {
  const page = boardOf(profiles);
  return many(Math.min(10_000, profiles) - LIMIT, (offset) => ({
    path: `/api/leaderboard?limit=${LIMIT}&offset=${offset}`,
    headers: KEY,
    isRight: ({ status, body }) => status === 200 && body === page(LIMIT, offset),
  }));
}

/** Lookups of hot profiles, with each of these keys in turn. */
export function byManyKeys(profiles: number, keys = workingKeys(profiles)): Question[] {
  const headers = keys.map(bearer);
  const hot = hotIds(profiles);
  return many(DISTINCT, (at) => {
    const id = hot[(at * 7919) % hot.length] as number;
    return lookup(id, headers[at % headers.length]);
  });
}
