import { cleanForTerminal } from '../../text.ts';

/** A line that was left out: its number from 1, and why. */
export type RefusedLine = { line: number; reason: string };

/** What an import did; exactly what `profiles import --json` prints. */
export type ImportResult = {
  /** Lines that put a profile in or changed one. */
  imported: number;
  /** Profiles that were there and were erased. */
  deleted: number;
  /** In the order of the file; after the first 10 000 one entry speaks for the others. */
  refused: RefusedLine[];
  /** How often each unknown field was left out; after 1 000 different ones the others count as `…other`. */
  dropped: Record<string, number>;
};

/** Collects a result in bounded memory, whatever the file holds. */
export type ImportReport = {
  applied: (done: { imported: number; deleted: number }) => void;
  refuse: (line: number, reason: string) => void;
  drop: (fields: readonly string[]) => void;
  refusedCount: () => number;
  /** How many lines are in the database: profiles put in, changed or erased. */
  appliedCount: () => number;
  result: () => ImportResult;
};

const MAX_REFUSED = 10_000;
const MAX_FIELDS = 1_000;
const MAX_FIELD_CHARACTERS = 64;
const OTHER = '…other';

/** An empty report; `onRefused` hears of every refused line, the ones beyond the 10 000 too. */
export function createImportReport(onRefused: (refused: RefusedLine) => void = () => {}): ImportReport {
  let imported = 0;
  let deleted = 0;
  let unlisted = 0;
  const refused: RefusedLine[] = [];
  const dropped = new Map<string, number>();
  return {
    applied: (done) => {
      imported += done.imported;
      deleted += done.deleted;
    },
    refuse: (line, reason) => {
      if (refused.length < MAX_REFUSED) refused.push({ line, reason });
      else unlisted++;
      onRefused({ line, reason });
    },
    drop: (fields) => {
      for (const field of fields) {
        const name = cleanForTerminal(field.slice(0, MAX_FIELD_CHARACTERS));
        const key = dropped.has(name) || dropped.size < MAX_FIELDS ? name : OTHER;
        dropped.set(key, (dropped.get(key) ?? 0) + 1);
      }
    },
    refusedCount: () => refused.length + unlisted,
    appliedCount: () => imported + deleted,
    result: () => {
      const listed = refused.toSorted((a, b) => a.line - b.line);
      const last = listed.at(-1);
      if (unlisted > 0 && last !== undefined) {
        listed.push({ line: last.line + 1, reason: `and ${unlisted} more lines were refused, from about here on` });
      }
      // fromEntries makes own fields of whatever a hostile file calls them, __proto__ too.
      return { imported, deleted, refused: listed, dropped: Object.fromEntries(dropped) };
    },
  };
}
