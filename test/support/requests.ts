import { expect } from 'bun:test';
import type { Permission } from '../../shared/db/schema.ts';
import type { Deps } from '../../shared/deps.ts';
import { DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';
import { parseRateLimit } from '../../shared/limits/rate-limit.ts';
import { SUBJECT } from '../server/routes.ts';
import { issue } from './keys.ts';
import { insertProfile } from './profiles.ts';

/** Inserts the subject, and a key with both permissions and ample limits; returns its secret. */
export async function prepare(deps: Deps): Promise<string> {
  insertProfile(deps.db, { ...SUBJECT, aliases: ['lovelace'] });
  return (await keyFor(deps, ['1000000/1s'])).secret;
}

let holders = 1_000_000;

/** Issues a key of a new profile with these rate limits and, by default, both permissions. */
export async function keyFor(
  deps: Deps,
  rateLimits: readonly string[],
  permissions: readonly Permission[] = ['api.lookup', 'api.leaderboard'],
) {
  const id = insertProfile(deps.db, { id: ++holders, banned: false });
  const limits = rateLimits.map(parseRateLimit);
  return issue(deps, { profile: `user${id}`, permissions }, { rateLimits: limits });
}

/** Expects a well-formed refusal with this status and code; returns its sentence. */
export async function expectRefused(answer: Response, status: number, code: ErrorCode): Promise<string> {
  const text = await answer.text();
  expect([answer.status, answer.headers.get('x-error-code'), text]).toEqual([status, code, text]);
  expect(refusalOf(code).status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9A-Za-z]{12}-[0-9a-z]+$/);
  expect(answer.headers.has('access-control-allow-origin')).toBe(false);
  const { error } = JSON.parse(text);
  expect(text).toBe(JSON.stringify({ error }));
  // One sentence for a person: it ends with a full stop and contains nothing technical.
  expect(error).toMatch(/^\S.*[.]$/);
  expect(error).not.toMatch(/SQL|\bat \/|Error:|plk_|undefined/);
  return error;
}

/** Expects a well-formed refusal with this status, a documented code and these headers; returns its sentence. */
export async function expectRefusal(
  answer: Response,
  status: number,
  headers: Record<string, string | RegExp | null> = {},
): Promise<string> {
  const code = DOCUMENTED_CODES.find((each) => each === answer.headers.get('x-error-code'));
  for (const [name, value] of Object.entries(headers)) {
    const shown = answer.headers.get(name);
    if (value instanceof RegExp) expect(shown ?? `no ${name}`).toMatch(value);
    else expect([name, shown]).toEqual([name, value]);
  }
  return expectRefused(answer, status, code ?? 'internal');
}
