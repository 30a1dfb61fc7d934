import { cleanForTerminal } from '../../text.ts';
import type { ProfileLine } from '../edit/line.ts';
import { type Applied, addApplied, NOTHING_APPLIED } from '../edit/pass.ts';

/** A refused line: its number from 1, its id and the field, if known, and the reason. */
export type RefusedLine = { line: number; id: number | null; field: string | null; reason: string };

/** The result of an import, exactly as `profiles import --json` prints it. */
export type ImportResult = {
  imported: number;
  deleted: number;
  /** Profiles erased because the file does not contain them. */
  pruned: number;
  /** Lines skipped because their profile was written or erased here after their data was read (`asOfMs`). */
  newer: number;
  /** In the order of the file; after the first 10 000, one entry stands for the rest. */
  refused: RefusedLine[];
  /**
   * How many times each unknown field was ignored; after 1 000 different ones, the others count as `…other`. `links` counts
   * links dropped because of their scheme.
   */
  dropped: Record<string, number>;
};

/** Further details of an import for people. */
export type ImportDetails = {
  /** Lines read, without blank ones. */
  lines: number;
  blank: number;
  /** Lines that erase missing profiles. */
  notThere: number;
  /** Profiles that lost their e-mail address because their line has none. */
  unaddressed: number;
  /** The profiles of the first ten lines skipped as `newer`. */
  newerIds: number[];
  /**
   * The number of lines refused for each reason, the most frequent first; after 50 reasons, the others are counted
   * together.
   */
  refusedFor: { reason: string; lines: number }[];
  /** Why nothing was pruned although it was requested, as a sentence; otherwise null. */
  notPruned: string | null;
};

/** The result and the details. */
export type ImportOutcome = ImportResult & { details: ImportDetails };

/** Collects the results of an import in bounded memory, whatever the file contains. */
export type ImportReport = {
  read: (line: Pick<ProfileLine, 'unknown' | 'droppedLinks'> | null) => void;
  applied: (done: Applied) => void;
  pruned: (profiles: number) => void;
  notPruned: (sentence: string) => void;
  /** `sum` is the reason without the parts that differ between lines. */
  refuse: (refused: RefusedLine, sum: string) => void;
  refusedCount: () => number;
  lineCount: () => number;
  /** The number of lines applied: profiles added, changed or erased. */
  appliedCount: () => number;
  outcome: (blank: number) => ImportOutcome;
};

const MAX_REFUSED = 10_000;
const MAX_FIELDS = 1_000;
const MAX_FIELD_CHARACTERS = 64;
const OTHER = '…other';
const MAX_REASONS = 50;
const OTHER_REASONS = 'other reasons';

/** Creates an empty report; `onRefused` is called for all refused lines, including those beyond 10 000. */
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
        // fromEntries creates own properties, even if a hostile file contains a field __proto__.
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

/** Counts a name, or `other` if there are already `max` different ones. */
function countIn(counts: Map<string, number>, name: string, max: number, other: string): void {
  const key = counts.has(name) || counts.size < max ? name : other;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function listed(refused: readonly RefusedLine[], unlisted: number): RefusedLine[] {
  const all = refused.toSorted((a, b) => a.line - b.line);
  const last = all.at(-1);
  if (unlisted === 0 || last === undefined) return all;
  const reason = `and ${unlisted} more lines were refused, starting about here`;
  return [...all, { line: last.line + 1, id: null, field: null, reason }];
}
