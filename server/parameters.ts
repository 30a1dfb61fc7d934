import { AppError } from '../shared/errors.ts';

/** A parameter name that may be repeated to its sender: too short for a secret, nothing but plain characters. */
const NAMEABLE = /^[A-Za-z0-9_.[\]-]{1,32}$/;

/**
 * The `:name` part of a path, percent-decoded once and strictly (RFC 3986, section 2.1). `template` is the route's path;
 * the path matches it. Throws `bad_parameter` naming the part for a broken sequence or invalid UTF-8.
 */
export function pathParameter(template: string, path: string): string {
  const start = template.indexOf(':');
  const end = path.indexOf('/', start);
  const raw = path.slice(start, end === -1 ? undefined : end);
  if (!raw.includes('%')) return raw;
  const name = template.slice(start + 1).split('/', 1)[0] as string;
  return decode(raw) ?? malformed(name);
}

/**
 * The query's parameters, each at most once and one of `allowed`. `+` is a space. Throws `bad_parameter` naming what is
 * unknown, repeated or not decodable, and saying what is allowed.
 */
export function queryParameters(query: string, allowed: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  if (query === '') return found;
  for (const part of query.split('&')) {
    const equals = part.indexOf('=');
    const name = decode(spaces(equals === -1 ? part : part.slice(0, equals)));
    if (name === null || !allowed.includes(name)) throw unknown(name, allowed);
    if (found.has(name)) throw new AppError('bad_parameter', `${name} may be given only once.`);
    found.set(name, decode(spaces(equals === -1 ? '' : part.slice(equals + 1))) ?? malformed(name));
  }
  return found;
}

/** A whole number in decimal, without sign or leading zeros, or `fallback` where it is absent. Throws `bad_parameter`. */
export function wholeNumber(
  parameters: ReadonlyMap<string, string>,
  name: string,
  { least, most, fallback }: { least: number; most: number; fallback: number },
): number {
  const text = parameters.get(name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^(0|[1-9][0-9]{0,8})$/.test(text) || value < least || value > most) {
    throw new AppError('bad_parameter', `${name} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

function spaces(text: string): string {
  return text.replaceAll('+', ' ');
}

/** Null for broken percent sequences and for invalid UTF-8, overlong forms and surrogates among it. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function malformed(name: string): never {
  throw new AppError('bad_parameter', `${name} must be percent-encoded UTF-8.`);
}

function unknown(name: string | null, allowed: readonly string[]): AppError {
  const subject = name !== null && NAMEABLE.test(name) ? `The query parameter ${name}` : 'A query parameter';
  const rule = allowed.length === 0 ? 'takes none' : `takes ${allowed.join(' and ')} only`;
  return new AppError('bad_parameter', `${subject} is unknown: this path ${rule}.`);
}
