import { type ProfileColumns, SETTABLE_LIST, type StoredLink } from '../field-values.ts';
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

/** The most bytes a line may have, its line end left out (1 MiB). */
export const MAX_LINE_BYTES = 1_048_576;

/** A checked line: what it sets, and the names of the fields that nobody knows. Absent is undefined. */
export type ProfileLine = {
  id: number;
  /** Whether the line erases the profile; nothing else in it counts then. */
  deleted: boolean;
  username: Name | undefined;
  aliases: Name[] | undefined;
  columns: Partial<ProfileColumns>;
  links: StoredLink[] | undefined;
  unknown: string[];
};

/** Why a line is left out: reads on after `line 7: `, and holds nothing private. */
export type LineRefusal = { reason: string };

type Reader = (line: ProfileLine, value: unknown, field: string) => void;

const READERS = new Map<string, Reader>([
  ...SETTABLE_LIST.map(({ name, kind }): [string, Reader] => [name, columnReader(name, READ_VALUE[kind])]),
  [
    'id',
    (line, value, field) => {
      line.id = readCount(field, value, 1);
    },
  ],
  [
    'deleted',
    (line, value, field) => {
      line.deleted = readFlag(field, value);
    },
  ],
  [
    'username',
    (line, value, field) => {
      line.username = readName(field, value);
    },
  ],
  [
    'aliases',
    (line, value, field) => {
      line.aliases = readList(field, value, readName);
    },
  ],
  [
    'links',
    (line, value, field) => {
      line.links = readList(field, value, (at, link) => readLink(at, link, line.unknown));
    },
  ],
]);

function columnReader(name: keyof ProfileColumns, read: (typeof READ_VALUE)[keyof typeof READ_VALUE]): Reader {
  return (line, value, field) => {
    (line.columns as Record<string, unknown>)[name] = read(field, value, line.unknown);
  };
}

/**
 * Checks one line of JSON Lines against the rules for profiles (docs/profiles.md). `username` may be missing where
 * `merge` says so; everything else that is absent stays undefined, for its default is the importer's matter. Of a field
 * that is given twice the last counts, as `JSON.parse` has it.
 */
export function parseLine(text: string, merge: boolean): ProfileLine | LineRefusal {
  try {
    const fields = readObject('the line', parseJson(text));
    const line: ProfileLine = {
      id: 0,
      deleted: false,
      username: undefined,
      aliases: undefined,
      columns: {},
      links: undefined,
      unknown: [],
    };
    if (fields.deleted === true) return { ...line, id: readCount('id', fields.id, 1), deleted: true };
    for (const field of Object.keys(fields)) {
      const read = READERS.get(field);
      if (read === undefined) line.unknown.push(field);
      else read(line, fields[field], field);
    }
    if (line.id === 0) throw new LineFault('id', 'is missing');
    if (line.username === undefined && !merge) throw new LineFault('username', 'is missing');
    const twice = nameGivenTwice(line.username, line.aliases ?? []);
    if (twice !== null) throw new LineFault('aliases', twice);
    return line;
  } catch (error) {
    if (error instanceof LineFault) return { reason: error.message };
    throw error;
  }
}

/** A clause about the first alias that is, as compared, the username or an earlier alias; null where there is none. */
export function nameGivenTwice(username: Name | undefined, aliases: readonly Name[]): string | null {
  if (aliases.length === 0) return null;
  const seen = new Set(username === undefined ? [] : [username.folded]);
  for (const { name, folded } of aliases) {
    if (folded === username?.folded) return `may not hold the username again ("${name}")`;
    if (seen.has(folded)) return `may not hold the same name twice ("${name}")`;
    seen.add(folded);
  }
  return null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message repeats the text, which may be private.
    throw new LineFault('the line', 'is not valid JSON');
  }
}
