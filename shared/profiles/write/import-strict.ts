import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, statSync, unlinkSync, writeSync } from 'node:fs';
import type { Sqlite } from '../../db/connect.ts';
import { writeProfiles } from '../../db/write.ts';
import type { Entry } from './apply.ts';
import { type BatchContext, ROLL_BACK } from './import-batch.ts';
import type { ImportReport } from './import-report.ts';
import { chunksOf, type ImportSource, type OnProgress } from './import-source.ts';
import { parseLine } from './line.ts';
import type { TakenAt } from './name-claims.ts';
import { createLineSplitter, type SplitLine } from './split.ts';

const CHUNK_BYTES = 262_144;

/**
 * All or nothing: checks the whole file first, without the lock, then applies it in one transaction as if it were one
 * batch. Memory doesn't grow with the file. A source that can't be read twice (a pipe) is first copied to a file beside
 * the database, which has no name any more by the time anything is in it.
 */
export async function importStrictly(
  context: BatchContext,
  source: ImportSource,
  report: ImportReport,
  onProgress: OnProgress,
): Promise<void> {
  const file = await openTwice(context.db.$client.filename, source);
  try {
    const totalBytes = file.bytes;
    for (const { line, bytes, lines } of readLines(file.fd)) {
      if (line !== null) checkLine(line, context.merge, report);
      else {
        onProgress({ lines, bytes, totalBytes });
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    if (report.refusedCount() === 0) applyWhole(context, file.fd, report);
  } finally {
    closeSync(file.fd);
  }
}

function checkLine(line: SplitLine, merge: boolean, report: ImportReport): void {
  const parsed = 'fault' in line ? { reason: line.fault } : parseLine(line.text, merge);
  if ('reason' in parsed) report.refuse(line.number, parsed.reason);
  else report.drop(parsed.unknown);
}

function applyWhole(context: BatchContext, fd: number, report: ImportReport): void {
  const { db, apply, merge, onKeys, nowMs } = context;
  try {
    const done = writeProfiles(db, (tx) => {
      const applied = apply(tx, entriesOf(fd, merge, report), {
        merge,
        onKeys,
        nowMs,
        takenAt: createTakenAtTable(db.$client),
        refuse: report.refuse,
        clash: ({ loser, reason }) => report.refuse(loser, reason),
      });
      if (report.refusedCount() > 0) throw ROLL_BACK;
      return applied;
    });
    report.applied(done);
  } catch (error) {
    if (error !== ROLL_BACK) throw error;
  }
}

function* entriesOf(fd: number, merge: boolean, report: ImportReport): Generator<Entry> {
  for (const { line } of readLines(fd)) {
    if (line === null) continue;
    // Checked again, for the file may have changed since.
    const parsed = 'fault' in line ? { reason: line.fault } : parseLine(line.text, merge);
    if ('reason' in parsed) report.refuse(line.number, parsed.reason);
    else if ('bytes' in line) yield { number: line.number, bytes: line.bytes, line: parsed };
  }
}

type Step = { line: SplitLine | null; bytes: number; lines: number };

/** The lines of a file from its beginning, and a null after each chunk. */
function* readLines(fd: number): Generator<Step> {
  const splitter = createLineSplitter();
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  let lines = 0;
  for (;;) {
    const length = readSync(fd, buffer, 0, buffer.length, bytes);
    bytes += length;
    for (const line of length === 0 ? splitter.end() : splitter.push(buffer.subarray(0, length))) {
      lines = line.number;
      yield { line, bytes, lines };
    }
    if (length === 0) return;
    yield { line: null, bytes, lines };
  }
}

async function openTwice(databasePath: string, source: ImportSource): Promise<{ fd: number; bytes: number }> {
  const stat = typeof source === 'string' ? statSync(source, { throwIfNoEntry: false }) : undefined;
  if (typeof source === 'string' && stat?.isFile()) return { fd: openSync(source, 'r'), bytes: stat.size };
  const path = `${databasePath}.${randomUUID()}.import`;
  const fd = openSync(path, 'wx+', 0o600);
  try {
    // Without its name it is gone with this process, however that ends.
    unlinkSync(path);
    let bytes = 0;
    for await (const chunk of chunksOf(source)) {
      for (let done = 0; done < chunk.length; ) done += writeSync(fd, chunk, done);
      bytes += chunk.length;
    }
    return { fd, bytes };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** On disk where it is large, unlike a map. */
function createTakenAtTable(sqlite: Sqlite): TakenAt {
  sqlite.run('DROP TABLE IF EXISTS temp.taken_at');
  sqlite.run('CREATE TEMP TABLE taken_at (what TEXT PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID');
  const get = sqlite.prepare<{ line: number }, [string]>('SELECT line FROM temp.taken_at WHERE what = ?');
  const set = sqlite.prepare('INSERT OR REPLACE INTO temp.taken_at VALUES (?, ?)');
  return { get: (what) => get.get(what)?.line, set: (what, line) => set.run(what, line) };
}
