import type { Actor } from '../../actor.ts';
import { DAY_MS, isoTime, parseIsoTime } from '../../clock.ts';
import type { Tx } from '../../db/connect.ts';
import { databaseFault, guardDatabase } from '../../db/faults.ts';
import { write, writeInTurns } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { KEPT_AFTER_ERASURE_MS } from '../../erasure.ts';
import { AppError, isForOperator } from '../../errors.ts';
import { keepLogShort } from '../../files/disk.ts';
import type { MailConfig } from '../../mail/outbox.ts';
import { createApplier, noRemarks, type Outcome, type Policy } from '../apply.ts';
import { deletionOf, type ProfileLine, parseLine, type Refusal, wholeLine } from '../line.ts';
import { listCandidates, type PruneOptions, whyNotPruned } from './prune.ts';
import { createImportReport, type ImportOutcome, type RefusedLine, storeLastImport } from './report.ts';
import { createWaiting, holdersFor, MAX_NAMES, WAITS_BEHIND, type WaitingLine, withDependents } from './settle.ts';
import { chunksOf, type ImportSource, nameOf, type Rejects, sizeOf, sourceFault, withoutWaiting } from './source.ts';
import { createLineSplitter, type SplitLine } from './split.ts';

/** The progress of an import; `totalBytes` is null if unknown. */
type Progress = { lines: number; bytes: number; totalBytes: number | null };

/**
 * The pace of an import that shares its thread with other work: `lockMs` is how long a batch may hold the write lock and the
 * thread, `gapMs` how long both are free between two batches (without a gap, other writers would hardly ever get the lock),
 * and `write` runs each step that writes once the lock is free.
 */
type Pace = { lockMs: number; gapMs: number; write: <T>(act: () => T | Promise<T>) => Promise<T> };

/** The options of an import. */
export type ImportOptions = {
  /** If true, a line whose profile exists changes only the fields that it contains; otherwise it replaces the profile. */
  merge: boolean;
  /** If true, all lines are applied or none, in one transaction; otherwise bad lines are skipped. */
  strict: boolean;
  /**
   * When the data was read, in milliseconds since 1970: lines are skipped if their profile was written or erased here
   * since. Absent if unknown. The caller has checked it with `readAsOf`.
   */
  asOfMs?: number;
  by: Actor;
  /** The settings that mails about changed addresses quote. */
  config: MailConfig;
  /** The restrictions of a backend's token. */
  policy?: Policy;
  /** Erases the profiles that the file does not contain, at the end. */
  prune?: PruneOptions;
  rejects?: Rejects;
  /** Absent for a command, whose connection waits for the lock itself. */
  pace?: Pace;
  /** Called after every batch. */
  onProgress?: (progress: Progress) => void;
  /** Called for each refused line. */
  onRefused?: (refused: RefusedLine) => void;
};

const COMMAND_PACE: Pace = { lockMs: 50, gapMs: 15, write: async (act) => act() };

/** So many lines, or bytes, are parsed before they are applied, without the lock. */
const PARSED_AT_ONCE = { lines: 2_000, bytes: 1_048_576 };

/**
 * Parses the time at which an import's data was read. Returns milliseconds since 1970, or the fault as the end of a
 * sentence that begins with the parameter's name. A time before the recorded erasures is refused, since erased profiles
 * would be restored.
 */
export function readAsOf(text: string, nowMs: number): { atMs: number } | { fault: string } {
  const atMs = parseIsoTime(text);
  if (atMs === null) return { fault: 'must be an ISO 8601 time with a time zone, such as 2027-01-31T02:00:00Z' };
  if (atMs > nowMs) return { fault: `may not be in the future; it is now ${isoTime(nowMs)}` };
  if (atMs < nowMs - KEPT_AFTER_ERASURE_MS) {
    return { fault: `may not be more than ${KEPT_AFTER_ERASURE_MS / DAY_MS} days in the past` };
  }
  return { atMs };
}

/**
 * Imports JSON Lines, or a JSON array, into the database (docs/profiles.md): upserts by id, erasures, refusals. A batch is
 * applied completely or not at all, whatever stops the process. Throws `refused` if the source can't be read or contains no
 * line, and the errors of `write`. Batches committed before an error stay; the error is then `done_in_part`, and its sentence
 * says how many lines were applied.
 */
export async function importProfiles(
  deps: Pick<Deps, 'db' | 'clock'>,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportOutcome> {
  const { db, clock } = deps;
  const { by, strict, prune } = options;
  const run = guardDatabase(db.$client.filename, () => prepareRun(deps, options));
  const { report } = run;
  try {
    const { blank, isLastEnded } = strict ? await importStrictly(run, source) : await importLines(run, source);
    if (report.lineCount() === 0) throw new AppError('refused', `${nameOf(source)} has no lines; nothing was changed.`);
    if (prune !== undefined) await pruneRest(run, prune, isLastEnded);
    const outcome = report.outcome(blank);
    if (outcome.imported + outcome.deleted + outcome.pruned > 0) {
      const { lines } = outcome.details;
      const counts = { lines, refused: report.refusedCount() };
      await run.pace.write(() => storeLastImport(db, by, clock.nowMs(), counts));
    }
    return outcome;
  } catch (error) {
    throw withImportedCount(sourceFault(source, error) ?? error, report.appliedCount());
  }
}

/** A line of the file: its text, or bytes if that is not possible, and what it says, or why it is refused. */
type Entry = {
  number: number;
  raw: string | Uint8Array | null;
  bytes: number;
  id: number | null;
  line: ProfileLine | null;
  refusal: Refusal | null;
};

/** The state of one import. */
type ImportRun = ReturnType<typeof prepareRun>;

function prepareRun({ db, clock }: Pick<Deps, 'db' | 'clock'>, options: ImportOptions) {
  const { merge, asOfMs = null, by, config, policy, prune, rejects = null, onProgress = () => {}, onRefused } = options;
  // A file may contain all profiles every night, and most of its lines change nothing: without --as-of, these are not
  // written.
  const confirms = by.kind === 'backend' || asOfMs !== null;
  return {
    db,
    clock,
    merge,
    asOfMs,
    rejects,
    // Over HTTP an array is refused like any other line that is not an object: the number of lines is limited there.
    splitter: createLineSplitter(rejects?.writePiece, by.kind === 'backend'),
    onProgress,
    keepLogShort: keepLogShort(db.$client),
    applier: createApplier(db.$client, { merge, by, config, ...(policy && { policy }), asOfMs, confirms }),
    candidates: prune === undefined ? null : listCandidates(db.$client),
    report: createImportReport(onRefused),
    waiting: createWaiting(),
    pace: options.pace ?? COMMAND_PACE,
    /** When the last batch ended, by the monotonic clock. */
    endedAtMs: Number.NEGATIVE_INFINITY,
  };
}

/** Reads and applies all lines. Returns how the file ended. */
async function importLines(run: ImportRun, source: ImportSource) {
  const totalBytes = sizeOf(source);
  const { splitter } = run;
  let parsed: Entry[] = [];
  let parsedBytes = 0;
  let bytes = 0;
  const take = (line: SplitLine) => {
    const entry = entryOf(line);
    parsed.push(entry);
    parsedBytes += entry.bytes;
    run.report.read(entry.id, entry.line?.dropped ?? []);
    if (entry.id !== null) run.candidates?.keep([entry.id]);
  };
  const flush = async () => {
    let done = 0;
    while (done < parsed.length) {
      const lines = await inBatch(run, () => applySome(run, parsed.slice(done)));
      done += lines;
      run.onProgress({ lines: parsed[done - 1]?.number ?? 0, bytes, totalBytes });
    }
    parsed = [];
    parsedBytes = 0;
  };
  for await (const chunk of chunksOf(source)) {
    bytes += chunk.length;
    for (const line of splitter.push(chunk)) take(line);
    if (parsed.length >= PARSED_AT_ONCE.lines || parsedBytes >= PARSED_AT_ONCE.bytes) await flush();
    else await yieldToOthers();
  }
  for (const line of splitter.end()) take(line);
  await flush();
  await settle(run);
  return splitter.state();
}

/** All or nothing: everything happens in one transaction, which is rolled back if a line is refused. */
async function importStrictly(run: ImportRun, source: ImportSource) {
  const { db, report } = run;
  const path = db.$client.filename;
  const readable = await withoutWaiting(source, path);
  guardDatabase(path, () => db.$client.run('BEGIN IMMEDIATE'));
  try {
    const end = await importLines(run, readable);
    guardDatabase(path, () => db.$client.run(report.refusedCount() === 0 ? 'COMMIT' : 'ROLLBACK'));
    if (report.refusedCount() > 0) report.rolledBack();
    return end;
  } catch (error) {
    // SQLite has ended the transaction itself if, for example, the disk is full.
    if (db.$client.inTransaction) db.$client.run('ROLLBACK');
    report.rolledBack();
    throw error;
  }
}

function entryOf(line: SplitLine): Entry {
  if ('fault' in line) {
    const { number, raw, fault } = line;
    return { number, raw, bytes: raw?.length ?? 0, id: null, line: null, refusal: wholeLine(fault) };
  }
  const { number, text: raw, bytes } = line;
  const read = parseLine(raw);
  const isRefused = 'reason' in read;
  return { number, raw, bytes, id: read.id, line: isRefused ? null : read, refusal: isRefused ? read : null };
}

/** Lets others run: those waiting for the lock, and other work of this process. */
function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Runs one transaction of an import at its turn. */
async function inBatch<T>(run: ImportRun, act: () => T | Promise<T>): Promise<T> {
  const { db, clock, pace } = run;
  const isWhole = db.$client.inTransaction;
  const waitMs = run.endedAtMs + pace.gapMs - clock.monotonicMs();
  if (waitMs > 0 && !isWhole) await Bun.sleep(waitMs);
  else await yieldToOthers();
  const result = await pace.write(act);
  run.endedAtMs = clock.monotonicMs();
  // A checkpoint is possible only outside a transaction.
  if (!isWhole) run.keepLogShort();
  return result;
}

/** Applies entries in one transaction until its time is over. Returns how many; at least one. */
function applySome(run: ImportRun, entries: readonly Entry[]): number {
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
      applier.completeErasures(tx, outcomes.filter((outcome) => outcome === 'deleted').length, nowMs);
    });
  } catch (error) {
    if (isFatal(run, error)) throw error;
    // The transaction was rolled back. The lines before the one at which this program failed are applied again; that one comes
    // first in the next call, and is refused alone.
    const before = entries.slice(0, outcomes.length);
    if (before.length > 0) return applySome(run, before);
    outcomes = [FAULT];
  }
  report.remarked(remarks);
  for (const [index, outcome] of outcomes.entries()) account(run, entries[index] as Entry, outcome);
  return outcomes.length;
}

/** The outcome of a line at which this program itself fails. */
const FAULT: Outcome = { refusal: wholeLine('this program failed at the line'), isHeld: false };

/** Whether an error ends the import: one of the database, or a refusal, rather than of this program at one line. */
function isFatal({ db }: ImportRun, error: unknown): boolean {
  return error instanceof AppError || databaseFault(db.$client.filename, error) !== null;
}

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

/** How often the lines that waited are tried together, each time without those that were refused. */
const MAX_ROUNDS = 8;

/**
 * Applies the lines that waited, as far as they can be applied together, in one transaction: their profiles first give up their
 * names and auth IDs. If a line is refused, everything is undone and tried again without it. Lets others run in between.
 */
async function settle(run: ImportRun): Promise<void> {
  const { applier, waiting, pace, clock, db } = run;
  const holders = new Map<WaitingLine, number[]>();
  let turnEndsAtMs = clock.monotonicMs() + pace.lockMs;
  const takeTurns = async () => {
    if (clock.monotonicMs() < turnEndsAtMs) return;
    await yieldToOthers();
    turnEndsAtMs = clock.monotonicMs() + pace.lockMs;
  };
  let names = 0;
  let left: readonly WaitingLine[] = waiting.lines;
  for (const [index, entry] of left.entries()) {
    holders.set(entry, holdersFor(applier, entry.line));
    names += applier.countNames(entry.line);
    // A strict import has the lock anyway.
    if (names > MAX_NAMES && !db.$client.inTransaction) {
      for (const late of left.slice(index)) refuseWaiting(run, late);
      left = left.slice(0, index);
      break;
    }
    await takeTurns();
  }
  for (let round = 1; left.length > 0 && round <= MAX_ROUNDS; round++) {
    const tried = left;
    const { outcomes, remarks } = await inBatch(run, () =>
      writeInTurns(db, (tx) => applyTogether(run, tx, tried, takeTurns)),
    );
    if (outcomes.every(isApplied)) {
      run.report.remarked(remarks);
      for (const [index, { line }] of left.entries()) run.report.applied(line.id, outcomes[index] as AppliedOutcome);
      return;
    }
    const ended = left.filter((_, index) => !isApplied(outcomes[index]));
    const dropped = withDependents(ended, left, holders);
    for (const [index, entry] of left.entries()) {
      const outcome = outcomes[index];
      if (outcome === 'newer') run.report.applied(entry.line.id, outcome);
      else if (dropped.has(entry)) refuseWaiting(run, entry, outcome);
    }
    left = left.filter((entry) => !dropped.has(entry));
  }
  for (const entry of left) refuseWaiting(run, entry);
}

/** The outcome of a line that was applied. */
type AppliedOutcome = Exclude<Outcome, 'newer' | object>;

function isApplied(outcome: Outcome | undefined): outcome is AppliedOutcome {
  return typeof outcome === 'string' && outcome !== 'newer';
}

function refuseWaiting(run: ImportRun, { number, line, text, refusal }: WaitingLine, outcome?: Outcome): void {
  refuse(run, number, line.id, text, typeof outcome === 'object' ? outcome.refusal : refusal);
}

/** Applies all lines, or none if one of them is not applied; its outcome says why. */
async function applyTogether(run: ImportRun, tx: Tx, lines: readonly WaitingLine[], takeTurns: () => Promise<void>) {
  const { applier, clock, db } = run;
  const nowMs = clock.nowMs();
  const remarks = noRemarks();
  const outcomes: Outcome[] = [];
  db.$client.run('SAVEPOINT waiting');
  for (const id of new Set(lines.map(({ line }) => line.id))) {
    applier.release(id);
    await takeTurns();
  }
  for (const { line } of lines) {
    try {
      outcomes.push(applier.apply(tx, line, nowMs, remarks));
    } catch (error) {
      if (isFatal(run, error)) throw error;
      outcomes.push(FAULT);
    }
    await takeTurns();
  }
  applier.endRelease();
  if (outcomes.every(isApplied))
    applier.completeErasures(tx, outcomes.filter((one) => one === 'deleted').length, nowMs);
  else db.$client.run('ROLLBACK TO waiting');
  db.$client.run('RELEASE waiting');
  return { outcomes, remarks };
}

/**
 * Erases the profiles that the file did not contain, in batches, except those written after the file was read. Erases
 * none, and reports why, if a line was refused, the file may be truncated, too many would be erased, or the person
 * declines.
 */
async function pruneRest(
  run: ImportRun,
  { limitPercent, confirm }: PruneOptions,
  isLastLineEnded: boolean,
): Promise<void> {
  const { candidates, report, clock, asOfMs, db, applier, pace } = run;
  if (candidates === null) return;
  const nowMs = clock.nowMs();
  const left = candidates.countLeft(asOfMs ?? nowMs, nowMs);
  const { before } = candidates;
  const why = whyNotPruned({ refused: report.refusedCount(), isLastLineEnded, before, left, limitPercent });
  if (why !== null) return report.notPruned(`Nothing was pruned: ${why}.`);
  if (left === 0) return;
  if (!(await confirm(left))) return report.notPruned('Nothing was pruned.');
  for (let isDone = false; !isDone; ) {
    const erased = await inBatch(run, () =>
      write(db, (tx) => {
        const nowMs = clock.nowMs();
        const untilMs = clock.monotonicMs() + pace.lockMs;
        let count = 0;
        while (clock.monotonicMs() < untilMs && !isDone) {
          const one = candidates.next(asOfMs ?? nowMs, nowMs);
          isDone = one === null;
          if (one === null) break;
          candidates.keep([one.id]);
          if (applier.apply(tx, deletionOf(one.id), nowMs, noRemarks()) === 'deleted') count++;
        }
        applier.completeErasures(tx, count, nowMs);
        return count;
      }),
    );
    report.pruned(erased);
  }
}

/** The error that ended an import; if lines were already applied, a `done_in_part` that also says how many. */
function withImportedCount(error: unknown, lines: number): unknown {
  if (!(error instanceof AppError) || error.code === 'cancelled' || lines === 0) return error;
  const imported = lines === 1 ? '1 line was imported' : `${lines} lines were imported`;
  const sentence = error.message.replace(/(; this step wrote nothing)?\.$/, `; ${imported}$1.`);
  return new AppError('done_in_part', sentence, { cause: error, isForOperator: isForOperator(error) });
}
