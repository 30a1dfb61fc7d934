import { expect } from 'bun:test';
import { DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';

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
