import type { Actor } from '../../actor.ts';
import { databaseFault } from '../../db/faults.ts';
import { write } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { keepLogShort } from '../../files/disk.ts';
import { type ApplyOptions, createApplier, noRemarks, type Outcome } from '../apply.ts';
import { type ProfileLine, type Refusal, wholeLine } from '../line.ts';
import { listCandidates, type PruneOptions } from './candidates.ts';
import type { Rejects } from './rejects.ts';
import { createImportReport, type RefusedLine } from './report.ts';
import { createWaiting, planWaiting, WAITS_BEHIND, type Waiting, type WaitingLine } from './settle.ts';

/** The dependencies of an import. */
export type ImportDeps = Pick<Deps, 'db' | 'clock'>;

/** The progress of an import; `totalBytes` is null if unknown. */
export type Progress = { lines: number; bytes: number; totalBytes: number | null };

/** How long a batch holds the write lock and the thread; `ready` resolves once one may begin. */
export type Pace = { lockMs: number; ready: () => Promise<void> };

/** The options of an import. */
export type ImportOptions = {
  /**
   * If true, a line whose profile exists changes only the fields that it contains; otherwise it replaces the profile.
   */
  merge: boolean;
  /** If true, all lines are applied or none, in one transaction; otherwise bad lines are skipped. */
  strict: boolean;
  /**
   * When the data was read, in milliseconds since 1970: lines are skipped if their profile was written or erased here
   * since. Absent if unknown. The caller has checked it with `readAsOf`.
   */
  asOfMs?: number;
  by: Actor;
  /** The effects on the keys of profiles (`effectsOnKeys` in shared/erasure). */
  onKeys: ApplyOptions['onKeys'];
  /** Erases the profiles that the file does not contain, at the end. */
  prune?: PruneOptions;
  rejects?: Rejects;
  /** Absent for a command, whose connection waits for the lock itself. */
  pace?: Pace;
  /** Called after every batch. */
  onProgress?: (progress: Progress) => void;
  /** Called for each refused line. */
  onRefused?: (refused: RefusedLine) => void;
  /**
   * Called with a sentence if the time of the last import can't be stored.
   */
  onWarning?: (sentence: string) => void;
};

const COMMAND_PACE: Pace = { lockMs: 50, ready: async () => {} };

/** How long the lock stays free between two batches: without a gap, other writers would hardly ever get it. */
const GAP_MS = 15;

/** A line of the file: its text, or bytes if that is not possible, and what it says, or why it is refused. */
export type Entry = {
  number: number;
  raw: string | Uint8Array | null;
  bytes: number;
  id: number | null;
  line: ProfileLine | null;
  refusal: Refusal | null;
};

/** The state of one import. */
export type ImportRun = ReturnType<typeof prepareRun>;

/** Prepares an import. */
export function prepareRun({ db, clock }: ImportDeps, options: ImportOptions) {
  const { merge, asOfMs = null, by, onKeys, prune, rejects = null, onProgress = () => {}, onRefused } = options;
  // A file may contain all profiles every night, and most of its lines change nothing: without --as-of, these are not
  // written.
  const confirms = by.kind === 'backend' || asOfMs !== null;
  return {
    db,
    clock,
    merge,
    onKeys,
    asOfMs,
    rejects,
    onProgress,
    keepLogShort: keepLogShort(db.$client),
    applier: createApplier(db.$client, { merge, onKeys, asOfMs, confirms }),
    candidates: prune === undefined ? null : listCandidates(db.$client),
    report: createImportReport(onRefused),
    waiting: createWaiting(),
    pace: options.pace ?? COMMAND_PACE,
    /** When the last batch ended, by the monotonic clock. */
    endedAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** Lets others run: those waiting for the lock, and other work of this process. */
export function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Runs one transaction of an import at its turn. */
export async function inBatch<T>(run: ImportRun, act: () => T): Promise<T> {
  const { db, clock, pace } = run;
  const isWhole = db.$client.inTransaction;
  const waitMs = run.endedAtMs + GAP_MS - clock.monotonicMs();
  if (waitMs > 0 && !isWhole) await Bun.sleep(waitMs);
  else await yieldToOthers();
  await pace.ready();
  const result = act();
  run.endedAtMs = clock.monotonicMs();
  // A checkpoint is possible only outside a transaction.
  if (!isWhole) run.keepLogShort();
  return result;
}

/** Applies entries in one transaction until its time is over. Returns how many; at least one. */
export function applySome(run: ImportRun, entries: readonly Entry[]): number {
  const { db, clock, applier, report, waiting, pace } = run;
  const remarks = noRemarks();
  let outcomes: Outcome[] = [];
  try {
    write(db, (tx) => {
      const nowMs = clock.nowMs();
      const untilMs = clock.monotonicMs() + pace.lockMs;
      const held = new Set<number>();
      for (const { line, refusal } of entries) {
        const isBehind = line !== null && (held.has(line.id) || waiting.has(line.id));
        const outcome: Outcome =
          line === null || isBehind
            ? { refusal: refusal ?? WAITS_BEHIND, isHeld: isBehind }
            : applier.apply(tx, line, nowMs, remarks);
        outcomes.push(outcome);
        if (line !== null && typeof outcome === 'object' && outcome.isHeld) held.add(line.id);
        if (clock.monotonicMs() >= untilMs) break;
      }
      applier.noteErased(tx, outcomes.filter((outcome) => outcome === 'deleted').length, nowMs);
    });
  } catch (error) {
    if (error instanceof AppError || databaseFault(db.$client.filename, error) !== null) throw error;
    // The transaction was rolled back. The lines before the one at which this program failed are applied again.
    const before = entries.slice(0, outcomes.length);
    if (before.length > 0) return applySome(run, before);
    outcomes = [{ refusal: FAULT, isHeld: false }];
  }
  report.remarked(remarks);
  for (const [index, outcome] of outcomes.entries()) account(run, entries[index] as Entry, outcome);
  return outcomes.length;
}

const FAULT = wholeLine('this program failed at the line');

/** Counts a line, keeps it for the end if it was refused for a name, or reports it as refused. */
function account(run: ImportRun, { number, raw, id, line }: Entry, outcome: Outcome): void {
  if (typeof outcome === 'string') {
    run.report.applied(id ?? 0, outcome);
    return;
  }
  const { refusal, isHeld } = outcome;
  const isWaiting = isHeld && line !== null && run.waiting.add({ number, text: String(raw), line, refusal });
  if (!isWaiting) refuse(run, number, id, raw, refusal);
}

function refuse(
  { report, rejects }: ImportRun,
  number: number,
  id: number | null,
  raw: Entry['raw'],
  refusal: Refusal,
) {
  report.refuse(number, id, refusal);
  if (raw !== null) rejects?.writeLine(raw);
}

/** Applying can fail where planning did not see why, such as at a name taken meanwhile: then it is planned again. */
const MAX_ROUNDS = 8;

/** Applies the lines that waited, as far as they can be applied together; refuses the others. */
export async function settle(run: ImportRun): Promise<void> {
  const { applier, waiting, merge } = run;
  const end = ({ number, line, text, refusal }: WaitingLine) => refuse(run, number, line.id, text, refusal);
  let left = waiting.take();
  for (let round = 1; left.size > 0; round++) {
    const plan = await planWaiting(applier, left, merge, yieldToOthers);
    plan.refused.sort((a, b) => a.number - b.number).forEach(end);
    left = new Map();
    for (let done = 0; done < plan.groups.length; ) {
      done += await inBatch(run, () => settleSome(run, plan.groups.slice(done), left));
    }
    if (round < MAX_ROUNDS) continue;
    [...left.values()].flat().forEach(end);
    return;
  }
}

type Group = Awaited<ReturnType<typeof planWaiting>>['groups'][number];

/**
 * Applies groups in one transaction until its time is over; returns how many. A group of which a line can't be applied
 * changes nothing: that line is reported, and the others are added to `left`.
 */
function settleSome(run: ImportRun, groups: readonly Group[], left: ReturnType<Waiting['take']>): number {
  const { db, clock, applier, report, pace } = run;
  const done: { group: Group; outcomes: Outcome[]; remarks: ReturnType<typeof noRemarks> }[] = [];
  write(db, (tx) => {
    const nowMs = clock.nowMs();
    const untilMs = clock.monotonicMs() + pace.lockMs;
    for (const group of groups) {
      const remarks = noRemarks();
      const outcomes: Outcome[] = [];
      db.$client.run('SAVEPOINT waiting');
      for (const id of group.ids) applier.release(id);
      for (const { line } of group.lines) outcomes.push(applier.apply(tx, line, nowMs, remarks));
      const isWhole = outcomes.every((outcome) => typeof outcome === 'string' && outcome !== 'newer');
      if (applier.endRelease() || !isWhole) db.$client.run('ROLLBACK TO waiting');
      else applier.noteErased(tx, outcomes.filter((outcome) => outcome === 'deleted').length, nowMs);
      db.$client.run('RELEASE waiting');
      done.push({ group, outcomes, remarks });
      if (clock.monotonicMs() >= untilMs) break;
    }
  });
  for (const { group, outcomes, remarks } of done) {
    const isWhole = outcomes.every((outcome) => typeof outcome === 'string' && outcome !== 'newer');
    if (isWhole) report.remarked(remarks);
    for (const [index, { number, text, line, refusal }] of group.lines.entries()) {
      const outcome = outcomes[index] as Outcome;
      if (typeof outcome === 'object') refuse(run, number, line.id, text, outcome.isHeld ? refusal : outcome.refusal);
      else if (isWhole || outcome === 'newer') report.applied(line.id, outcome);
      else left.set(line.id, [...(left.get(line.id) ?? []), { number, text, line, refusal }]);
    }
  }
  return done.length;
}
