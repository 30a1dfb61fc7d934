import { cleanForTerminal } from '../../text.ts';
import type { ProfileLine } from '../edit/line.ts';
import { type Applied, addApplied, NOTHING_APPLIED } from '../edit/pass.ts';

/** A line that was left out: its number from 1, its id and the field where they are known, and why. */
export type RefusedLine = { line: number; id: number | null; field: string | null; reason: string };

/** What an import did; exactly what `profiles import --json` prints. */
export type ImportResult = {
  /** Lines that put a profile in or changed one. */
  imported: number;
  /** Profiles that were there and that a line erased. */
  deleted: number;
  /** Profiles that were erased because the file does not name them. */
  pruned: number;
  /** Lines that were left out, because their profile was written or erased here after their data was read (`asOfMs`). */
  newer: number;
  /** In the order of the file; after the first 10 000 one entry speaks for the others. */
  refused: RefusedLine[];
  /**
   * How often each unknown field was left out; after 1 000 different ones the others count as `…other`. `links` counts
   * links that were left out for their scheme.
   */
  dropped: Record<string, number>;
};

/** What else a person is told of an import. */
export type ImportDetails = {
  /** Lines that were read and are not blank. */
  lines: number;
  /** Blank lines. */
  blank: number;
  /** Lines that erase a profile that is not there. */
  notThere: number;
  /** Profiles that have no address any more, because their line does not speak of it. */
  unaddressed: number;
  /** The profiles of the first ten lines that were left out as `newer`. */
  newerIds: number[];
  /** How many lines were refused for each reason, the most frequent first; after 50 reasons the others count as one. */
  refusedFor: { reason: string; lines: number }[];
  /** Why nothing was pruned although it was asked for, as a sentence; null where that is not so. */
  notPruned: string | null;
};

/** Both. */
export type ImportOutcome = ImportResult & { details: ImportDetails };

/** Collects what an import did in bounded memory, whatever the file holds. */
export type ImportReport = {
  /** Counts a line that was read, with what of it was left out. */
  read: (line: Pick<ProfileLine, 'unknown' | 'droppedLinks'> | null) => void;
  applied: (done: Applied) => void;
  pruned: (profiles: number) => void;
  notPruned: (sentence: string) => void;
  /** `sum` is the reason without what differs from line to line. */
  refuse: (refused: RefusedLine, sum: string) => void;
  refusedCount: () => number;
  lineCount: () => number;
  /** How many lines are in the database: profiles put in, changed or erased. */
  appliedCount: () => number;
  outcome: (blank: number) => ImportOutcome;
};

const MAX_REFUSED = 10_000;
const MAX_FIELDS = 1_000;
const MAX_FIELD_CHARACTERS = 64;
const OTHER = '…other';
const MAX_REASONS = 50;
const OTHER_REASONS = 'other reasons';

/** An empty report; `onRefused` hears of every refused line, the ones beyond the 10 000 too. */
export function createImportReport(onRefused: (refused: RefusedLine) => void = () => {}): ImportReport {
  let done: Applied = NOTHING_APPLIED;
  const counts = { lines: 0, pruned: 0, unlisted: 0, droppedLinks: 0 };
  let notPruned: string | null = null;
  const refused: RefusedLine[] = [];
  const dropped = new Map<string, number>();
  const reasons = new Map<string, number>();
  return {
    read: (line) => {
      counts.lines++;
      if (line === null) return;
      for (const field of line.unknown) {
        countIn(dropped, cleanForTerminal(field.slice(0, MAX_FIELD_CHARACTERS)), MAX_FIELDS, OTHER);
      }
      counts.droppedLinks += line.droppedLinks;
    },
    applied: (more) => {
      done = addApplied(done, more);
    },
    pruned: (profiles) => {
      counts.pruned += profiles;
    },
    notPruned: (sentence) => {
      notPruned = sentence;
    },
    refuse: (line, sum) => {
      if (refused.length < MAX_REFUSED) refused.push(line);
      else counts.unlisted++;
      countIn(reasons, sum, MAX_REASONS, OTHER_REASONS);
      onRefused(line);
    },
    refusedCount: () => refused.length + counts.unlisted,
    lineCount: () => counts.lines,
    appliedCount: () => done.imported + done.deleted,
    outcome: (blank) => {
      if (counts.droppedLinks > 0) dropped.set('links', counts.droppedLinks);
      const refusedFor = Array.from(reasons, ([reason, lines]) => ({ reason, lines }));
      return {
        imported: done.imported,
        deleted: done.deleted,
        pruned: counts.pruned,
        newer: done.newer,
        refused: listed(refused, counts.unlisted),
        // fromEntries makes own fields of whatever a hostile file calls them, __proto__ too.
        dropped: Object.fromEntries(dropped),
        details: {
          lines: counts.lines,
          blank,
          notThere: done.notThere,
          unaddressed: done.unaddressed,
          newerIds: done.newerIds,
          refusedFor: refusedFor.sort((a, b) => b.lines - a.lines),
          notPruned,
        },
      };
    },
  };
}

/** Counts a name; of names beyond so many different ones, `other` is counted. */
function countIn(counts: Map<string, number>, name: string, most: number, other: string): void {
  const key = counts.has(name) || counts.size < most ? name : other;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function listed(refused: readonly RefusedLine[], unlisted: number): RefusedLine[] {
  const all = refused.toSorted((a, b) => a.line - b.line);
  const last = all.at(-1);
  if (unlisted === 0 || last === undefined) return all;
  const reason = `and ${unlisted} more lines were refused, from about here on`;
  return [...all, { line: last.line + 1, id: null, field: null, reason }];
}
