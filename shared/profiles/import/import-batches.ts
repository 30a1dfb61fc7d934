import { max } from 'drizzle-orm';
import { profiles } from '../../db/schema/profiles.ts';
import type { LineRefusal, ProfileLine } from '../edit/line.ts';
import { type Refusal, WAITS_BEHIND } from '../edit/refusal.ts';
import { prepareLinkCount } from '../record.ts';
import { type BatchSize, yieldToOthers } from './batch-size.ts';
import { createDeferredLines, type DeferredLines } from './deferred-lines.ts';
import { applyEntries, type ImportRun, rawOf, readLine, refuseLine, type TextEntry } from './import-run.ts';
import { chunksOf, type ImportSource, sizeOf } from './import-source.ts';
import { createLineSplitter, type LineSplitter, type SplitLine } from './split.ts';

/** A batch ends at the first limit reached, including that of `BatchSize`. A row is a profile, a name or a link. */
const BATCH_MAX = { rows: 8_000, bytes: 2_097_152 };

/**
 * Imports a file in batches, skipping bad lines. Lines that conflict with a name or auth ID of another profile are
 * retried at the end, together with all later lines of the same profile, so that the lines of a profile are applied in
 * order wherever a batch ends. Returns how the file ended.
 */
export async function importInBatches(
  run: ImportRun,
  source: ImportSource,
  batchSize: BatchSize,
): Promise<ReturnType<LineSplitter['state']>> {
  const totalBytes = sizeOf(source);
  const rowsOf = createRowCounter(run);
  const splitter = createLineSplitter(run.rejects?.writePiece);
  const deferred = createDeferredLines(run.db.$client, run.merge, (entry, refusal) => refuseEntry(run, entry, refusal));
  let batch = emptyBatch();
  let bytes = 0;
  let lines = 0;

  const flush = async (): Promise<void> => {
    await batchSize.ready();
    batchSize.timed(() => applyOrDefer(run, batch, deferred));
    run.log.afterWrite();
    batch = emptyBatch();
    run.onProgress({ lines, bytes, totalBytes, deferred: deferred.count() });
    await yieldToOthers();
  };
  const waitBehind = (entry: TextEntry): void => {
    if (!deferred.add(entry, WAITS_BEHIND)) refuseEntry(run, entry, WAITS_BEHIND);
  };
  const take = async (line: SplitLine): Promise<void> => {
    const parsed = readLine(run, line);
    // A line that writes or deletes very many rows gets its own batch.
    const rows = 'reason' in parsed ? 0 : rowsOf(parsed);
    if (batch.rows > 0 && batch.rows + rows > BATCH_MAX.rows) await flush();
    lines = line.number;
    if ('reason' in parsed) batch.refused.push({ number: line.number, raw: rawOf(line), refusal: parsed });
    else if ('bytes' in line) {
      const entry = { number: line.number, bytes: line.bytes, line: parsed, text: line.text };
      if (deferred.has(parsed.id)) return waitBehind(entry);
      batch.entries.push(entry);
      batch.rows += rows;
      batch.bytes += line.bytes;
    }
    if (batch.entries.length + batch.refused.length >= batchSize.maxLines() || batch.bytes >= BATCH_MAX.bytes)
      await flush();
  };

  for await (const chunk of chunksOf(source)) {
    bytes += chunk.length;
    for (const line of splitter.push(chunk)) await take(line);
  }
  for (const line of splitter.end()) await take(line);
  await flush();
  await retryDeferred(run, deferred, batchSize, rowsOf);
  return splitter.state();
}

type RefusedHere = { number: number; raw: string | Uint8Array | null; refusal: LineRefusal };
type Batch = { entries: TextEntry[]; refused: RefusedHere[]; rows: number; bytes: number };

function emptyBatch(): Batch {
  return { entries: [], refused: [], rows: 0, bytes: 0 };
}

/** Counts the rows that a line writes or deletes. Profiles with ids above the highest stored one have no links yet. */
function createRowCounter({ db }: ImportRun): (line: ProfileLine) => number {
  const lastId =
    db
      .select({ id: max(profiles.id) })
      .from(profiles)
      .get()?.id ?? 0;
  const countLinks = prepareLinkCount(db.$client);
  return ({ id, aliases, links }) =>
    2 + (aliases?.length ?? 0) + (links?.length ?? 0) + (id > lastId ? 0 : countLinks(id));
}

/**
 * Applies a batch. Lines that conflict with a name of another profile are deferred to the end; other refused lines are
 * reported.
 */
function applyOrDefer(run: ImportRun, { entries, refused }: Batch, deferred: DeferredLines): void {
  const losers = applyEntries(run, entries, true);
  const finallyRefused = refused.map(({ number, raw, refusal }) => ({
    number,
    id: refusal.id,
    raw,
    refusal: refusal as Refusal,
  }));
  for (const entry of losers.size > 0 ? entries : []) {
    const loser = losers.get(entry.number);
    if (loser === undefined || (loser.isForName && deferred.add(entry, loser.refusal))) continue;
    finallyRefused.push({ number: entry.number, id: entry.line.id, raw: entry.text, refusal: loser.refusal });
  }
  run.candidates?.name(entries.map(({ line }) => line.id));
  for (const line of finallyRefused.sort((a, b) => a.number - b.number)) refuseLine(run, line, line.refusal);
}

/**
 * Retries the deferred lines, each group within one transaction; several groups share a transaction up to a batch's
 * limits.
 */
async function retryDeferred(
  run: ImportRun,
  deferred: DeferredLines,
  batchSize: BatchSize,
  rowsOf: (line: ProfileLine) => number,
): Promise<void> {
  let batch: TextEntry[] = [];
  let size = { rows: 0, bytes: 0 };
  const flush = async (): Promise<void> => {
    const entries = batch.sort((a, b) => a.number - b.number);
    await batchSize.ready();
    batchSize.timed(() => {
      const losers = applyEntries(run, entries, false);
      for (const entry of entries) {
        const loser = losers.get(entry.number);
        if (loser !== undefined) refuseEntry(run, entry, loser.refusal);
      }
    });
    run.log.afterWrite();
    batch = [];
    size = { rows: 0, bytes: 0 };
    await yieldToOthers();
  };
  for (const group of deferred.groups()) {
    const rows = group.reduce((sum, { line }) => sum + rowsOf(line), 0);
    const bytes = group.reduce((sum, entry) => sum + entry.bytes, 0);
    const isFull =
      batch.length + group.length > batchSize.maxLines() ||
      size.rows + rows > BATCH_MAX.rows ||
      size.bytes + bytes > BATCH_MAX.bytes;
    if (batch.length > 0 && isFull) await flush();
    batch = batch.concat(group);
    size = { rows: size.rows + rows, bytes: size.bytes + bytes };
  }
  if (batch.length > 0) await flush();
}

function refuseEntry(run: ImportRun, { number, line, text }: TextEntry, refusal: Refusal): void {
  refuseLine(run, { number, id: line.id, raw: text }, refusal);
}
