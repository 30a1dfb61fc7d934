import { codePoints } from '../../text.ts';
import { type ProfileColumns, SETTABLE_LIST, type StoredLink } from '../field-values.ts';
import { jsonFaultAt } from './json-fault.ts';
import {
  LineFault,
  type Name,
  READ_VALUE,
  readCount,
  readFlag,
  readLink,
  readList,
  readName,
  readObject,
} from './line-values.ts';
import { isUnsafeLink } from './link-scheme.ts';
import { type Refusal, refusalOfFault } from './refusal.ts';

/** The maximum length of a line in bytes, without its line ending (1 MiB). */
export const MAX_LINE_BYTES = 1_048_576;

/** A validated line: the fields that it sets, undefined if absent, and the names of unknown fields. */
export type ProfileLine = {
  id: number;
  /** Whether the line erases the profile; then everything else in it is ignored. */
  deleted: boolean;
  username: Name | undefined;
  aliases: Name[] | undefined;
  columns: Partial<ProfileColumns>;
  /** Without links of an unsafe scheme (`isUnsafeLink`). */
  links: StoredLink[] | undefined;
  unknown: string[];
  droppedLinks: number;
};

/** Why a line is refused, and its id, null if it can't be parsed. */
export type LineRefusal = Refusal & { id: number | null };

const COLUMN_READERS = new Map<string, (typeof READ_VALUE)[keyof typeof READ_VALUE]>(
  SETTABLE_LIST.map(({ name, kind }) => [name, READ_VALUE[kind]]),
);

function readField(line: ProfileLine, field: string, value: unknown): void {
  switch (field) {
    case 'id':
      line.id = readCount(field, value, 1);
      return;
    case 'deleted':
      line.deleted = readFlag(field, value);
      return;
    case 'username':
      line.username = readName(field, value);
      return;
    case 'aliases':
      line.aliases = readList(field, value, readName);
      return;
    case 'links': {
      const links = readList(field, value, (at, link) => readLink(at, link, line.unknown));
      // Usually no link is dropped, so the list need not be copied.
      line.links = links.some(isUnsafe) ? links.filter((link) => !isUnsafe(link)) : links;
      line.droppedLinks = links.length - line.links.length;
      return;
    }
    default: {
      const read = COLUMN_READERS.get(field);
      if (read === undefined) line.unknown.push(field);
      else (line.columns as Record<string, unknown>)[field] = read(field, value, line.unknown);
    }
  }
}

const isUnsafe = ({ link }: StoredLink) => isUnsafeLink(link);

/**
 * Validates one line of JSON Lines against the rules for profiles (docs/profiles.md). `username` may be absent with
 * `merge`. Other absent fields stay undefined: the importer fills in their defaults. If a field occurs twice, the last
 * one counts, as in `JSON.parse`.
 */
export function parseLine(text: string, merge: boolean): ProfileLine | LineRefusal {
  let fields: Record<string, unknown> = {};
  let reading: string | null = null;
  try {
    fields = readObject('the line', parseJson(text));
    if (fields.deleted === true) return deletionOf(readCount('id', fields.id, 1));
    const line = emptyLine(0, false);
    for (const field of Object.keys(fields)) {
      reading = field;
      readField(line, field, fields[field]);
    }
    reading = null;
    if (line.id === 0) throw new LineFault('id', 'is missing');
    if (line.username === undefined && !merge) throw new LineFault('username', 'is missing');
    const repeated = repeatedName(line.username, line.aliases ?? []);
    if (repeated !== null) throw repeated;
    return line;
  } catch (error) {
    if (!(error instanceof LineFault)) throw error;
    return { id: isUid(fields.id) ? fields.id : null, ...refusalOfFault(error, reading) };
  }
}

/** A line that erases the profile with this id. */
export function deletionOf(id: number): ProfileLine {
  return emptyLine(id, true);
}

function emptyLine(id: number, deleted: boolean): ProfileLine {
  return {
    id,
    deleted,
    username: undefined,
    aliases: undefined,
    columns: {},
    links: undefined,
    unknown: [],
    droppedLinks: 0,
  };
}

function isUid(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

/** Returns the fault of the first alias that equals the username or an earlier alias in folded form, or null. */
export function repeatedName(username: Name | undefined, aliases: readonly Name[]): LineFault | null {
  if (aliases.length === 0) return null;
  const seen = new Set(username === undefined ? [] : [username.folded]);
  for (const { name, folded } of aliases) {
    if (seen.has(folded)) {
      const rule = folded === username?.folded ? 'may not repeat the username' : 'may not contain the same name twice';
      return new LineFault('aliases', rule, ` ("${name}")`);
    }
    seen.add(folded);
  }
  return null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message repeats the text, which may be private.
    const at = jsonFaultAt(text);
    // Valid JSON may be nested too deeply for the parser.
    const place = at === null ? '' : ` (column ${codePoints(text.slice(0, at)) + 1})`;
    throw new LineFault('the line', 'is not valid JSON', place);
  }
}
