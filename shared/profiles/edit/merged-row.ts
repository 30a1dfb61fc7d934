import { COLUMN_LIST, KEPT_COLUMNS, type StoredProfile } from '../field-values.ts';
import type { StoredName, StoredRow } from '../record.ts';
import { type ProfileLine, repeatedName } from './line.ts';
import type { Name } from './line-values.ts';
import { type Refusal, refusalOfFault } from './refusal.ts';

/** A profile before a line is applied: its row, and its names with the pending ones, the username first. */
export type Held = { row: StoredRow; names: StoredName[] };

/** A profile as a line describes it: its row, and its names, the username first. */
export type MergedRow = { row: StoredRow; names: readonly Name[] };

/**
 * Merges a line with its profile (`held`, null if there is none), or returns why the line is refused. With `merge`,
 * only the fields of the line change; otherwise absent fields get their defaults or, if they have `isKept`, stay
 * unchanged. `nowMs` is the time of the import, `writtenAt` the time that is stored with the row.
 */
export function mergedRow(
  line: ProfileLine,
  held: Held | null,
  { merge, nowMs, writtenAt }: { merge: boolean; nowMs: number; writtenAt: number },
): MergedRow | Refusal {
  const { id } = line;
  const username = line.username ?? held?.names[0];
  if (username === undefined) {
    const rule = 'is missing';
    return {
      field: 'username',
      reason: `username ${rule}, and there is no profile ${id} to merge the line into`,
      sum: `username ${rule}, and there is no such profile to merge the line into`,
    };
  }
  const aliases = line.aliases ?? (held === null ? [] : keptAliases(held, username, merge));
  // If the line has all names, they were compared when it was parsed.
  const isMixed = line.username === undefined || line.aliases === undefined;
  const repeated = isMixed ? repeatedName(username, aliases) : null;
  if (repeated !== null) return refusalOfFault(repeated, 'aliases');
  const given = { id, username: username.name, writtenAt };
  const row = merge && held !== null ? { ...held.row, ...given } : newRow(given, nowMs);
  if (!merge && held !== null) copyKept(held.row, row);
  return { row: Object.assign(row, line.columns), names: [username, ...aliases] };
}

/** The stored aliases. A replacing line drops the one that became the username; a merging line must do so itself. */
function keptAliases({ names }: Held, username: Name, merge: boolean): Name[] {
  const aliases = names.slice(1);
  return merge ? aliases : aliases.filter(({ folded }) => folded !== username.folded);
}

function copyKept(from: StoredProfile, to: Record<string, unknown>): void {
  for (const name of KEPT_COLUMNS) to[name] = from[name];
}

/** The values of fields that a line omits; those that depend on the line or the time are computed for each line. */
const DEFAULTS = Object.fromEntries(COLUMN_LIST.map(({ name, absent }) => [name, absent])) as StoredProfile;
const COMPUTED_DEFAULTS = COLUMN_LIST.flatMap(({ name, absent }) =>
  typeof absent === 'function' ? { name, absent } : [],
);

function newRow(given: Pick<StoredRow, 'id' | 'username' | 'writtenAt'>, nowMs: number): StoredRow {
  const row: Record<string, unknown> = { ...DEFAULTS, ...given };
  const { username } = given;
  for (const { name, absent } of COMPUTED_DEFAULTS) row[name] = absent({ username, nowMs });
  return row as StoredRow;
}
