import { isoTime, parseIsoTime } from '../clock.ts';
import { isObject, Line } from './fields.ts';

/** The maximum length of a line in bytes, without its line ending (256 KiB). */
export const MAX_LINE_BYTES = 262_144;

/** Why a line is refused, without private data. */
export type Refusal = {
  /** The field, with its index in a list: `badges[2].name`; null for the whole line. */
  field: string | null;
  /** Continues `line 7: `, and names the field, if any. */
  reason: string;
  /** The same without details that differ between lines, so that lines can be counted by it. */
  sum: string;
};

/** Something in a line that is left out: its field without indexes, and why. */
export type Dropped = { field: string; reason: string };

/** A validated line. `fields` are those that it has; null if it erases the profile. */
export type ProfileLine = { id: number; fields: Line | null; dropped: readonly Dropped[] };

/** Why a line is refused, and its id, null if it can't be parsed. */
type LineRefusal = Refusal & { id: number | null };

/** The refusal of the whole line. */
export function wholeLine(reason: string, sum = reason): Refusal {
  return { field: null, reason, sum };
}

/** The refusal of a field, by its name and the rule that it breaks. */
export function fieldRefusal(field: string, rule: string): Refusal {
  return { field, reason: `${field} ${rule}`, sum: `${field.replace(/\[\d+\]/g, '[]')} ${rule}` };
}

/** A line that erases the profile with this id. */
export function deletionOf(id: number): ProfileLine {
  return { id, fields: null, dropped: [] };
}

/**
 * Validates one line of JSON Lines against the rules for profiles (docs/profiles.md). Whether it needs a username depends
 * on the profile that it meets. If a field occurs twice, the last one counts, as in `JSON.parse`. Never throws.
 */
export function parseLine(text: string): ProfileLine | LineRefusal {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message repeats the text, which may be private.
    return { id: null, ...wholeLine('the line is not valid JSON') };
  }
  if (!isObject(value)) return { id: null, ...wholeLine('the line must be an object') };
  const isDeletion = value.deleted === true;
  const long = isDeletion ? undefined : LISTS.find((field) => lengthOf(value[field]) > MAX_ENTRIES[field]);
  if (long !== undefined) {
    return { id: idOf(value), ...fieldRefusal(long, `may have at most ${MAX_ENTRIES[long]} entries`) };
  }
  const lost = lostNumbers(text, value);
  // A deletion needs only its id.
  const parsed = Line.safeParse(isDeletion ? { id: value.id } : value);
  if (parsed.success && lost.length === 0) return isDeletion ? deletionOf(parsed.data.id) : lineOf(parsed.data, []);
  const { dropped, faults } = sorted(value, parsed.error?.issues ?? []);
  const all = [...faults, ...lost.filter(({ field }) => faults.every((fault) => fault.field !== field))];
  if (all.length > 0) return { id: idOf(value), ...together(all) };
  // What was forgiven is no longer in the value.
  return lineOf(Line.parse(value), dropped);
}

/**
 * A line with more would take too long, above all if all of them are bad. So many aliases and the largest profile still fit
 * into an export line that can be imported.
 */
const MAX_ENTRIES = { aliases: 500, badges: 2_500, links: 2_500 } as const;
const LISTS = ['aliases', 'badges', 'links'] as const;

const lengthOf = (value: unknown) => (Array.isArray(value) ? value.length : 0);

function idOf({ id }: Record<string, unknown>): number | null {
  return Line.shape.id.safeParse(id).data ?? null;
}

const CANONICAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Brings the values of a line into the form in which they are stored. */
function lineOf(fields: Line, dropped: readonly Dropped[]): ProfileLine {
  const { createdAt, email, links } = fields;
  if (createdAt != null && !CANONICAL_TIME.test(createdAt)) fields.createdAt = isoTime(parseIsoTime(createdAt) ?? 0);
  if (email != null) fields.email = email.trim();
  for (const link of links ?? []) {
    for (const key of ['title', 'image', 'clicksCount', 'linkMode'] as const) if (link[key] === null) delete link[key];
  }
  return { id: fields.id, fields, dropped };
}

type Issue = { code: string; path: PropertyKey[]; message: string; keys?: string[] };

/**
 * Takes what is forgiven out of the value: unknown fields, a bad address or auth ID, and bad entries of aliases and links.
 * Returns it with the faults for which the line is refused.
 */
function sorted(value: Record<string, unknown>, issues: readonly Issue[]): { dropped: Dropped[]; faults: Refusal[] } {
  const dropped: Dropped[] = [];
  const faults: Refusal[] = [];
  const bad = { aliases: new Set<unknown>(), links: new Set<unknown>() };
  for (const { code, path, message, keys = [] } of issues) {
    const [field, index] = path;
    const isEntry = (field === 'aliases' || field === 'links') && path.length > 1;
    if (code === 'unrecognized_keys') {
      const holder = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)[key], value);
      for (const key of keys) {
        delete (holder as Record<string, unknown>)[key];
        dropped.push({
          field: [...path.filter((part) => typeof part === 'string'), key].join('.'),
          reason: 'is unknown',
        });
      }
    } else if (isEntry) {
      // An entry counts once, by its first fault.
      if (bad[field].has(index)) continue;
      bad[field].add(index);
      dropped.push({ field: path.filter((part) => typeof part === 'string').join('.'), reason: message });
    } else if (field === 'email' || field === 'authId') {
      value[field] = null;
      dropped.push({ field, reason: message });
    } else faults.push(faultAt(path, message));
  }
  for (const field of ['aliases', 'links'] as const) {
    if (bad[field].size > 0) value[field] = (value[field] as unknown[]).filter((_, index) => !bad[field].has(index));
  }
  return { dropped, faults };
}

function faultAt(path: readonly PropertyKey[], message: string): Refusal {
  const field = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return field === '' ? wholeLine(`the line ${message}`) : fieldRefusal(field.slice(1), message);
}

/** The number of faults that the refusal of a line names. */
const MAX_FAULTS = 10;

function together(faults: readonly Refusal[]): Refusal {
  const [first = wholeLine('the line is bad')] = faults;
  if (faults.length === 1) return first;
  const named = faults.slice(0, MAX_FAULTS);
  const more = faults.length > named.length ? `; and ${faults.length - named.length} more` : '';
  const join = (part: 'reason' | 'sum') => `${named.map((fault) => fault[part]).join('; ')}${more}`;
  return { field: first.field, reason: join('reason'), sum: join('sum') };
}

/** Matches a text that may have a number that a double can't hold; most texts have none, and need not be searched. */
const LONG_NUMBER = /[:,[]\s*-?(?:\d{16}|[\d.]+[eE])/;

const LOST_RULE = 'contains a number beyond 2^53−1, which would lose digits; write it as a string';

/** The top-level fields with such a number anywhere in them: 1e400, or 123456789012345678. */
function lostNumbers(text: string, value: Record<string, unknown>): Refusal[] {
  if (!LONG_NUMBER.test(text)) return [];
  return Object.keys(value).flatMap((key) => (holdsLost(value[key]) ? fieldRefusal(key, LOST_RULE) : []));
}

// Without recursion, since a line may be nested more deeply than the stack.
function holdsLost(value: unknown): boolean {
  const left = [value];
  for (let item = left.pop(); item !== undefined; item = left.pop()) {
    if (typeof item === 'number') {
      if (!Number.isFinite(item) || (Number.isInteger(item) && !Number.isSafeInteger(item))) return true;
    } else if (typeof item === 'object' && item !== null) {
      for (const one of Object.values(item)) left.push(one);
    }
  }
  return false;
}
