import { DAY_MS, isoTime, parseIsoTime } from '../../clock.ts';
import { KEPT_AFTER_ERASURE_MS } from '../../db/facts.ts';
import { guardDatabase } from '../../db/faults.ts';
import { AppError, isForOperator } from '../../errors.ts';
import { parseLine, wholeLine } from '../line.ts';
import {
  applySome,
  type Entry,
  type ImportDeps,
  type ImportOptions,
  type ImportRun,
  inBatch,
  prepareRun,
  settle,
  yieldToOthers,
} from './batches.ts';
import { pruneCandidates } from './prune.ts';
import { type ImportOutcome, storeLastImport } from './report.ts';
import { chunksOf, type ImportSource, nameOf, sizeOf, sourceFault, withoutWaiting } from './source.ts';
import { createLineSplitter, type SplitLine } from './split.ts';

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
 * line, and the errors of `write`. Batches committed before an error stay; the error is then `done_in_part`, and its sentence says how many lines were applied.
 */
export async function importProfiles(
  deps: ImportDeps,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportOutcome> {
  const { db, clock } = deps;
  const { onWarning = () => {}, strict, prune } = options;
  const run = guardDatabase(db.$client.filename, () => prepareRun(deps, options));
  let end = { blank: 0, isLastEnded: true };
  try {
    end = strict ? await importStrictly(run, source) : await importLines(run, source);
    if (run.report.lineCount() === 0) {
      throw new AppError('refused', `${nameOf(source)} has no lines; nothing was changed.`);
    }
    if (prune !== undefined) await pruneCandidates(run, prune, end.isLastEnded);
  } catch (error) {
    throw withImportedCount(sourceFault(source, error) ?? error, run.report.appliedCount());
  }
  const outcome = run.report.outcome(end.blank);
  const erased = outcome.deleted + outcome.pruned;
  if (outcome.imported + erased > 0) {
    const refused = run.report.refusedCount();
    try {
      storeLastImport(db, options.by, clock.nowMs(), { lines: outcome.details.lines, refused });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      onWarning(`The import is done, but "status" will not show it. ${error.message}`);
    }
  }
  return outcome;
}

/** Reads and applies all lines. Returns how the file ended. */
async function importLines(run: ImportRun, source: ImportSource) {
  const totalBytes = sizeOf(source);
  const splitter = createLineSplitter(run.rejects?.writePiece);
  let parsed: Entry[] = [];
  let parsedBytes = 0;
  let bytes = 0;
  const take = (line: SplitLine) => {
    const entry = entryOf(line);
    parsed.push(entry);
    parsedBytes += entry.bytes;
    run.report.read(entry.id, entry.line?.dropped ?? []);
    if (entry.id !== null) run.candidates?.name([entry.id]);
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

/** The error that ended an import; if lines were already applied, a `done_in_part` that also says how many. */
export function withImportedCount(error: unknown, lines: number): unknown {
  if (!(error instanceof AppError) || error.code === 'cancelled' || lines === 0) return error;
  const imported = lines === 1 ? '1 line was imported' : `${lines} lines were imported`;
  const sentence = error.message.replace(/(; this step wrote nothing)?\.$/, `; ${imported}$1.`);
  return new AppError('done_in_part', sentence, { cause: error, isForOperator: isForOperator(error) });
}
