import { expect } from 'bun:test';
import type { Deps } from '../../shared/deps.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { addToken, type NewToken } from '../../shared/tokens.ts';
import { noteSecretsIn } from './secret-search.ts';
import { onBox } from './world.ts';

/** Adds a backend's token, with both rights by default; returns the token. */
export function tokenFor(access: Deps, changes: Partial<NewToken> = {}): string {
  const wanted = { name: 'backend', rights: ['profiles', 'sign-ins'], excludesContactFields: false };
  const { token } = addToken(access, { ...wanted, ...changes }, onBox('root'));
  noteSecretsIn(token);
  return token;
}

/** Sends lines to /manage/v1/profiles. */
export async function sendLines(
  server: { url: string },
  token: string,
  query: string,
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${server.url}/manage/v1/profiles${query}`, {
    method: 'POST',
    body,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/jsonl', ...headers },
  });
}

/** Sends a request under /manage, with a token unless it is null; an object is sent as JSON. */
export async function call(
  server: { url: string },
  path: string,
  token: string | null,
  { body, ...init }: Omit<RequestInit, 'body'> & { body?: unknown } = {},
): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set('Authorization', `Bearer ${token}`);
  const method = init.method ?? (body === undefined ? 'GET' : 'POST');
  if (body !== undefined && !headers.has('content-type')) headers.set('Content-Type', 'application/json');
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(server.url + path, {
    ...init,
    method,
    headers,
    ...(body !== undefined && { body: text }),
  });
}

/** Expects a well-formed refusal with this status and code; returns its sentence. */
export async function expectRefused(answer: Response, status: number, code: ErrorCode): Promise<string> {
  const body = (await answer.json()) as { error: string };
  expect([answer.status, answer.headers.get('x-error-code')]).toEqual([status, code]);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9A-Za-z]{12}-[0-9a-z]+$/);
  expect(Object.keys(body)).toEqual(['error']);
  expect(body.error).toMatch(/^\S.*[.]$/);
  return body.error;
}
