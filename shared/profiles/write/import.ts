import { statSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { emptyLog } from '../../db/empty-log.ts';
import { guardDatabase } from '../../db/faults.ts';
import { lockForImport } from '../../db/import-lock.ts';
import { keepLogShort, type LogKeeper } from '../../db/log-keeper.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { createApplier, type EffectsOnKeys, type Entry } from './apply.ts';
import { applyBatch, type BatchContext } from './import-batch.ts';
import { createImportReport, type ImportReport, type ImportResult, type RefusedLine } from './import-report.ts';
import { chunksOf, type ImportSource, type OnProgress, sourceFault } from './import-source.ts';
import { importStrictly } from './import-strict.ts';
import { type ProfileLine, parseLine } from './line.ts';
import { createLineSplitter, type SplitLine } from './split.ts';

/** What an import works with. */
export type ImportDeps = Pick<Deps, 'db' | 'clock'> & { config: Pick<Config, 'maxProfileBytes'> };

/** How to import. */
export type ImportOptions = {
  /** A line changes only the fields it has, where its profile exists; else it replaces the profile. */
  merge: boolean;
  /** Everything or nothing, in one transaction; else bad lines are left out and the rest goes in, in batches. */
  strict: boolean;
  /** What it does to the keys of profiles (`effectsOnKeys` in shared/erasure). */
  onKeys: EffectsOnKeys;
  onProgress?: OnProgress;
  /** Hears of every refused line; with `strict`, clashes come in no particular order. */
  onRefused?: (refused: RefusedLine) => void;
  /** Hears a sentence where the write-ahead log still holds something of what was erased. */
  onWarning?: (sentence: string) => void;
};

/** A batch ends at whichever comes first. A row is a profile, a name or a link. */
const BATCH_MAX = { lines: 1_000, rows: 8_000, bytes: 2_097_152 };

/** Indexes are written all over: what SQLite keeps of them in memory (KiB) need not be read again for each batch. */
const CACHE_KIB = 32_768;

/** Batches grow and shrink so that the write lock is held for about this long, milliseconds: half of what is promised. */
const WANTED_LOCK_MS = 50;

/**
 * Puts JSON Lines into the database (docs/profiles.md): upserts by id, erasures, refusals. Streams: memory
 * doesn't grow with the file. A batch is wholly in or wholly out, whatever stops the process. Waits while the database is
 * being vacuumed. Throws `refused` where the source can't be read, and what `write` throws; what earlier batches committed
 * stays, and the sentence says how much.
 */
export async function importProfiles(
  deps: ImportDeps,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportResult> {
  const lock = await lockForImport(deps.db.$client.filename);
  try {
    return await importLocked(deps, source, options);
  } finally {
    lock.close();
  }
}

async function importLocked(
  { db, clock, config }: ImportDeps,
  source: ImportSource,
  { merge, strict, onKeys, onProgress = () => {}, onRefused, onWarning = () => {} }: ImportOptions,
): Promise<ImportResult> {
  const report = createImportReport(onRefused);
  const { apply, log } = guardDatabase(db.$client.filename, () => {
    db.$client.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    return { apply: createApplier(db.$client, config.maxProfileBytes), log: keepLogShort(db.$client) };
  });
  const context = { db, apply, merge, onKeys, nowMs: clock.nowMs() };
  try {
    if (strict) await importStrictly(context, source, report, onProgress);
    else await importInBatches(context, clock, log, source, report, onProgress);
  } catch (error) {
    throw sayingWhatIsIn(sourceFault(source, error) ?? error, strict ? 0 : report.appliedCount());
  } finally {
    log.end();
  }
  const result = report.result();
  const warning = result.deleted > 0 ? emptyLog(db) : null;
  if (warning !== null) onWarning(warning);
  return result;
}

/** The same refusal, which also says how many lines earlier batches have put into the database. */
function sayingWhatIsIn(error: unknown, lines: number): unknown {
  if (!(error instanceof AppError) || lines === 0) return error;
  const areIn = lines === 1 ? '1 line is in' : `${lines} lines are in`;
  const sentence = error.message.replace(/(; nothing of this step was written)?\.$/, `; ${areIn}$1.`);
  return new AppError(error.code, sentence, { cause: error });
}

async function importInBatches(
  context: BatchContext,
  clock: Deps['clock'],
  log: LogKeeper,
  source: ImportSource,
  report: ImportReport,
  onProgress: OnProgress,
): Promise<void> {
  const totalBytes = (typeof source === 'string' && statSync(source, { throwIfNoEntry: false })?.size) || null;
  const heldLinks = createLinkCounter(context);
  const splitter = createLineSplitter();
  let batch = emptyBatch();
  let maxLines = BATCH_MAX.lines / 4;
  let bytes = 0;
  let lines = 0;

  const flush = async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    if (batch.entries.length > 0) applyAndReport(context, batch, report);
    else reportRefused(batch.refused, report);
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs > WANTED_LOCK_MS) maxLines = Math.max(1, Math.floor(maxLines / 2));
    else if (tookMs < WANTED_LOCK_MS / 2) maxLines = Math.min(BATCH_MAX.lines, maxLines * 2);
    log.afterWrite();
    batch = emptyBatch();
    onProgress({ lines, bytes, totalBytes });
    // Others get their turn: at the lock, and in this process.
    await new Promise((resolve) => setImmediate(resolve));
  };
  const take = async (line: SplitLine): Promise<void> => {
    const parsed = 'fault' in line ? { reason: line.fault } : parseLine(line.text, context.merge);
    // What writes or clears very many rows goes alone.
    const rows = 'reason' in parsed ? 0 : rowsOf(parsed) + heldLinks(parsed.id);
    if (batch.rows > 0 && batch.rows + rows > BATCH_MAX.rows) await flush();
    lines = line.number;
    if ('reason' in parsed) batch.refused.push({ line: line.number, reason: parsed.reason });
    else if ('bytes' in line) {
      report.drop(parsed.unknown);
      batch.entries.push({ number: line.number, bytes: line.bytes, line: parsed });
      batch.rows += rows;
      batch.bytes += line.bytes;
    }
    if (batch.entries.length + batch.refused.length >= maxLines || batch.bytes >= BATCH_MAX.bytes) await flush();
  };

  for await (const chunk of chunksOf(source)) {
    bytes += chunk.length;
    for (const line of splitter.push(chunk)) await take(line);
  }
  for (const line of splitter.end()) await take(line);
  await flush();
}

/** How many links a profile had when the import began; without asking, where all ids were lower. */
function createLinkCounter({ db }: BatchContext): (id: number) => number {
  const sqlite = db.$client;
  const last = sqlite.prepare<{ id: number | null }, []>('SELECT max(id) AS id FROM profiles').get();
  const lastId = last?.id ?? 0;
  const count = sqlite.prepare<{ links: number }, [number]>('SELECT count(*) AS links FROM links WHERE profile_id = ?');
  return (id) => (id > lastId ? 0 : (count.get(id)?.links ?? 0));
}

type Batch = { entries: Entry[]; refused: RefusedLine[]; rows: number; bytes: number };

function emptyBatch(): Batch {
  return { entries: [], refused: [], rows: 0, bytes: 0 };
}

function rowsOf({ aliases, links }: ProfileLine): number {
  return 2 + (aliases?.length ?? 0) + (links?.length ?? 0);
}

function applyAndReport(context: BatchContext, batch: Batch, report: ImportReport): void {
  const { refused, ...applied } = applyBatch(context, batch.entries);
  report.applied(applied);
  reportRefused([...batch.refused, ...refused], report);
}

function reportRefused(refused: readonly RefusedLine[], report: ImportReport): void {
  for (const { line, reason } of refused.toSorted((a, b) => a.line - b.line)) report.refuse(line, reason);
}
