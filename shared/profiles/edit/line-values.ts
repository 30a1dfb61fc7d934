import { parseIsoTime } from '../../iso-time.ts';
import { isMailAddress } from '../../mail/address.ts';
import type { Kind } from '../field-kinds.ts';
import { LINK_LIST, type Stored, type StoredLink } from '../field-values.ts';
import { authIdFault, foldName, nameFault } from '../name.ts';

// Parsers of single values of an import line. Each returns the value to store, or throws a LineFault with the field and
// the rule, without the value, which may be private.

/** A username or an alias with its folded form. */
export type Name = { name: string; folded: string };

/** How deep `customize` and `discordClean` may be nested, themselves included. */
export const MAX_DEPTH = 64;

/** Why a line is refused; always caught by the parser of the line. */
export class LineFault extends Error {
  /** `what` is the field with its index (`links[2].name`) or describes a part of it; `detail` differs between lines. */
  constructor(
    readonly what: string,
    readonly rule: string,
    detail = '',
  ) {
    super(`${what} ${rule}${detail}`);
    this.name = 'LineFault';
  }
}

/** Parses a string that survives a round trip through the database and JSON unchanged. */
function readText(field: string, value: unknown): string {
  if (typeof value !== 'string') throw new LineFault(field, 'must be a string');
  if (!value.isWellFormed() || value.includes('\0')) {
    throw new LineFault(field, 'may not contain unpaired surrogates or NUL');
  }
  return value;
}

function readTextOrNull(field: string, value: unknown): string | null {
  if (value !== null && typeof value !== 'string') throw new LineFault(field, 'must be a string or null');
  return value === null ? null : readText(field, value);
}

/** Parses `true` or `false`. */
export function readFlag(field: string, value: unknown): boolean {
  if (typeof value !== 'boolean') throw new LineFault(field, 'must be true or false');
  return value;
}

function readCountOrNull(field: string, value: unknown): number | null {
  return value === null ? null : readCount(field, value);
}

/** Parses a whole number from `min` to 2^53−1. */
export function readCount(field: string, value: unknown, min = 0): number {
  if (!Number.isSafeInteger(value) || (value as number) < min) {
    throw new LineFault(field, `must be a whole number from ${min} to ${Number.MAX_SAFE_INTEGER}`);
  }
  return (value as number) + 0; // -0 becomes 0
}

/** Parses a username or an alias. */
export function readName(field: string, value: unknown): Name {
  if (typeof value !== 'string') throw new LineFault(field, 'must be a string');
  const fault = nameFault(value);
  if (fault !== null) throw new LineFault(field, fault);
  return { name: value, folded: foldName(value) };
}

function readAuthId(field: string, value: unknown): string | null {
  const text = readTextOrNull(field, value);
  const fault = text === null ? null : authIdFault(text);
  if (fault !== null) throw new LineFault(field, fault);
  return text;
}

function readEmail(field: string, value: unknown): string | null {
  const text = readTextOrNull(field, value);
  if (text !== null && !isMailAddress(text)) throw new LineFault(field, 'must be one plain e-mail address, or null');
  return text;
}

/** Returns milliseconds since 1970. */
function readTime(field: string, value: unknown): number {
  const ms = typeof value === 'string' ? parseIsoTime(value) : null;
  if (ms === null) {
    throw new LineFault(
      field,
      'must be an ISO 8601 time with a time zone, on a valid date, such as 2024-05-01T00:00:00.000Z',
    );
  }
  return ms;
}

/** Parses a list; `read` parses each item with its own field name. */
export function readList<T>(field: string, value: unknown, read: (field: string, item: unknown) => T): T[] {
  if (!Array.isArray(value)) throw new LineFault(field, 'must be a list');
  return value.map((item, index) => read(`${field}[${index}]`, item));
}

/** Returns compact JSON text. Names of unknown fields are added to `unknown`. */
function readBadges(field: string, value: unknown, unknown: string[]): string {
  return JSON.stringify(readList(field, value, (at, badge) => readBadge(at, badge, unknown)));
}

function readBadge(field: string, value: unknown, unknown: string[]): { name: string; enabled: boolean } {
  const badge = readObject(field, value);
  noteUnknown(badge, BADGE_FIELDS, 'badges', unknown);
  return { name: readText(`${field}.name`, badge.name), enabled: readFlag(`${field}.enabled`, badge.enabled) };
}

/** Parses a link; missing fields become null. Names of unknown fields are added to `unknown`. */
export function readLink(field: string, value: unknown, unknown: string[]): StoredLink {
  const given = readObject(field, value);
  noteUnknown(given, LINK_NAMES, 'links', unknown);
  const link: Record<string, unknown> = { ...NO_LINK };
  for (const { name, nullable, read } of LINK_READERS) {
    const item = given[name];
    if (item != null || !nullable) link[name] = read(`${field}.${name}`, item, unknown);
  }
  return link as StoredLink;
}

function readAssets(field: string, value: unknown): string {
  const assets = readObject(field, value);
  for (const key of Object.keys(assets)) {
    readText(`a key of ${field}`, key);
    readTextOrNull(`each value of ${field}`, assets[key]);
  }
  return JSON.stringify(assets);
}

/** Parses any JSON object; returns compact JSON text. Values that would not survive the round trip are refused. */
function readOpenObject(field: string, value: unknown): string {
  checkOpen(field, readObject(field, value), 1);
  return JSON.stringify(value);
}

/** Parses a JSON object. */
export function readObject(field: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new LineFault(field, 'must be an object');
  }
  return value as Record<string, unknown>;
}

const BADGE_FIELDS = new Set(['name', 'enabled']);

function noteUnknown(value: object, known: ReadonlySet<string>, list: string, unknown: string[]): void {
  for (const key of Object.keys(value)) if (!known.has(key)) unknown.push(`${list}.${key}`);
}

function checkOpen(field: string, value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw new LineFault(field, `may be nested at most ${MAX_DEPTH} levels deep`);
  if (typeof value === 'string') readText(`each string in ${field}`, value);
  else if (typeof value === 'number') checkNumber(field, value);
  else if (Array.isArray(value)) for (const item of value) checkOpen(field, item, depth + 1);
  else if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) {
      readText(`each key in ${field}`, key);
      checkOpen(field, (value as Record<string, unknown>)[key], depth + 1);
    }
  }
}

function checkNumber(field: string, value: number): void {
  // 1e400 has become Infinity, and a number such as 123456789012345678 has lost its last digits.
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    throw new LineFault(field, 'contains a number beyond 2^53−1, which would lose digits; write it as a string');
  }
}

/** The kinds whose values are stored in one column, independent of the rest of the line. */
type PlainKind = Exclude<Kind, 'uid' | 'name' | 'names' | 'links'>;

/** The parser of each kind of value; it returns the value for the column. */
export const READ_VALUE: { [K in PlainKind]: (field: string, value: unknown, unknown: string[]) => Stored<K> } = {
  authId: readAuthId,
  email: readEmail,
  text: readText,
  textOrNull: readTextOrNull,
  badges: readBadges,
  assets: readAssets,
  openObject: readOpenObject,
  flag: (field, value) => (readFlag(field, value) ? 1 : 0),
  count: (field, value) => readCount(field, value),
  countOrNull: readCountOrNull,
  time: readTime,
};

const LINK_READERS = LINK_LIST.map(({ name, kind, nullable }) => ({ name, nullable, read: READ_VALUE[kind] }));
const LINK_NAMES: ReadonlySet<string> = new Set(LINK_LIST.map(({ name }) => name));

/** A link with all fields null; copying it is faster than adding the fields one by one. */
const NO_LINK = Object.fromEntries(LINK_LIST.map(({ name }) => [name, null]));
