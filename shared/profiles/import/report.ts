import { type Actor, actorText } from '../../actor.ts';
import { isoTime } from '../../clock.ts';
import type { Db, Sqlite } from '../../db/connect.ts';
import { readFact, storeFact } from '../../db/facts.ts';
import { write } from '../../db/write.ts';
import { cleanForTerminal } from '../../text.ts';
import { noRemarks, type Outcome, type Remarks } from '../apply.ts';
import type { Dropped, Refusal } from '../line.ts';

/** A refused line: its number from 1, its id and the field, if known, and the reason. */
export type RefusedLine = { line: number; id: number | null; field: string | null; reason: string };

/** What was left out of lines: how often, and the first UIDs. */
type DroppedCount = Dropped & { count: number; ids: number[] };

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
  /** After 1 000 different ones, the others count as the field `…other`. */
  dropped: DroppedCount[];
};

/** Further details of an import for people. */
type ImportDetails = {
  /** Lines read, without blank ones. */
  lines: number;
  blank: number;
  /** Lines that erase missing profiles. */
  notThere: number;
  /** Profiles that lost their e-mail address, or all links, badges or assets, because their line has none. */
  unaddressed: number;
  lost: Remarks['lost'];
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

const MAX_REFUSED = 10_000;
const MAX_DROPPED = 1_000;
const MAX_FIELD_CHARACTERS = 64;
const MAX_IDS = 10;
const OTHER: Dropped = { field: '…other', reason: 'other fields and reasons' };
const MAX_REASONS = 50;
const OTHER_REASONS = 'other reasons';

/**
 * Collects the results of an import in bounded memory, whatever the file contains. `onRefused` is called for all refused
 * lines, including those beyond 10 000.
 */
export function createImportReport(onRefused: (refused: RefusedLine) => void = () => {}) {
  const counts = { lines: 0, imported: 0, deleted: 0, notThere: 0, newer: 0, pruned: 0, unlisted: 0 };
  const newerIds = new Set<number>();
  const refused: RefusedLine[] = [];
  const dropped = new Map<string, DroppedCount>();
  const reasons = new Map<string, number>();
  const remarks = noRemarks();
  let notPruned: string | null = null;

  const drop = (id: number, { field, reason }: Dropped): void => {
    const named = { field: cleanForTerminal(field.slice(0, MAX_FIELD_CHARACTERS)), reason };
    const isOther = dropped.size >= MAX_DROPPED && !dropped.has(keyOf(named));
    const what = isOther ? OTHER : named;
    const known = dropped.get(keyOf(what)) ?? { ...what, count: 0, ids: [] };
    known.count++;
    if (known.ids.length < MAX_IDS && !known.ids.includes(id)) known.ids.push(id);
    dropped.set(keyOf(what), known);
  };
  return {
    /** Counts a line that was read. */
    read: (id: number | null, leftOut: readonly Dropped[]): void => {
      counts.lines++;
      for (const one of leftOut) drop(id ?? 0, one);
    },
    /** Counts a line that was not refused. */
    applied: (id: number, outcome: Extract<Outcome, string>): void => {
      counts[outcome]++;
      if (outcome === 'newer' && newerIds.size < MAX_IDS) newerIds.add(id);
    },
    remarked: ({ unaddressed, lost, repeated }: Remarks): void => {
      remarks.unaddressed += unaddressed;
      for (const what of ['links', 'badges', 'assets'] as const) remarks.lost[what] += lost[what];
      for (const id of repeated) drop(id, { field: 'aliases', reason: 'repeats another name of the profile' });
    },
    /** Forgets what was applied, because it was rolled back. */
    rolledBack: (): void => {
      Object.assign(counts, { imported: 0, deleted: 0, notThere: 0, newer: 0 });
      Object.assign(remarks, noRemarks());
      newerIds.clear();
    },
    pruned: (profiles: number): void => {
      counts.pruned += profiles;
    },
    notPruned: (sentence: string): void => {
      notPruned = sentence;
    },
    refuse: (line: number, id: number | null, { field, reason, sum }: Refusal): void => {
      const one = { line, id, field, reason };
      if (refused.length < MAX_REFUSED) refused.push(one);
      else counts.unlisted++;
      const name = reasons.has(sum) || reasons.size < MAX_REASONS ? sum : OTHER_REASONS;
      reasons.set(name, (reasons.get(name) ?? 0) + 1);
      onRefused(one);
    },
    refusedCount: () => refused.length + counts.unlisted,
    lineCount: () => counts.lines,
    /** The number of lines applied: profiles added, changed or erased. */
    appliedCount: () => counts.imported + counts.deleted,
    outcome: (blank: number): ImportOutcome => {
      const { imported, deleted, pruned, newer, lines, notThere } = counts;
      const refusedFor = Array.from(reasons, ([reason, times]) => ({ reason, lines: times }));
      return {
        imported,
        deleted,
        pruned,
        newer,
        refused: listed(refused, counts.unlisted),
        dropped: [...dropped.values()].sort((a, b) => b.count - a.count),
        details: {
          lines,
          blank,
          notThere,
          unaddressed: remarks.unaddressed,
          lost: remarks.lost,
          newerIds: [...newerIds],
          refusedFor: refusedFor.sort((a, b) => b.lines - a.lines),
          notPruned,
        },
      };
    },
  };
}

function keyOf({ field, reason }: Dropped): string {
  return `${field}\n${reason}`;
}

function listed(refused: readonly RefusedLine[], unlisted: number): RefusedLine[] {
  const all = refused.toSorted((a, b) => a.line - b.line);
  const last = all.at(-1);
  if (unlisted === 0 || last === undefined) return all;
  const reason = `and ${unlisted} more lines were refused, starting about here`;
  return [...all, { line: last.line + 1, id: null, field: null, reason }];
}

/** The last import that changed something: when it ended, who ran it, how many lines it read, and how many it refused. */
export type LastImport = { at: string; by: string; lines: number; refused: number };

/** `feed` is an import by a backend: these come every few seconds, and would hide the nightly ones. */
export type ImportKind = 'import' | 'feed';

/** Replaces the last import of the same kind. */
export function storeLastImport(db: Db, by: Actor, atMs: number, counts: Pick<LastImport, 'lines' | 'refused'>): void {
  const last: LastImport = { at: isoTime(atMs), by: actorText(by, 'operator'), ...counts };
  const name = by.kind === 'backend' ? 'last feed' : 'last import';
  write(db, (tx) => storeFact(tx.$client, name, JSON.stringify(last)));
}

/** Reads the last import of a kind; null if there was none. */
export function readLastImport(sqlite: Sqlite, kind: ImportKind): LastImport | null {
  return JSON.parse(readFact(sqlite, `last ${kind}`) ?? 'null');
}
