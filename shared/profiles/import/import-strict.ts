import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, statSync, unlinkSync, writeSync } from 'node:fs';
import type { Sqlite } from '../../db/connect.ts';
import { writeProfiles } from '../../db/write.ts';
import { parseLine } from '../edit/line.ts';
import type { Loser, TakenAt } from '../edit/name-conflicts.ts';
import type { Entry } from '../edit/pass.ts';
import { wholeLine } from '../edit/refusal.ts';
import { yieldToOthers } from './batch-size.ts';
import { ROLL_BACK } from './import-batch.ts';
import { type ImportRun, rawOf, readLine, refuseLine } from './import-run.ts';
import { chunksOf, type ImportSource } from './import-source.ts';
import { createLineSplitter, type LineSplitter, type SplitLine } from './split.ts';

const CHUNK_BYTES = 262_144;

/**
 * All or nothing: checks the whole file first, without the lock, then applies it in one transaction like a single
 * batch. Memory use does not grow with the file. A source that can't be read twice (a pipe) is first copied to a file
 * beside the database, whose name is removed before anything is written to it. Returns how the file ended.
 */
export async function importStrictly(run: ImportRun, source: ImportSource): Promise<ReturnType<LineSplitter['state']>> {
  const file = await openTwice(run.db.$client.filename, source);
  const splitter = createLineSplitter(run.rejects?.writePiece);
  try {
    let ids: number[] = [];
    for (const { line, bytes, lines } of readLines(file.fd, splitter)) {
      const id = line === null ? null : checkLine(run, line);
      if (id !== null) ids.push(id);
      if (line !== null) continue;
      run.candidates?.name(ids);
      ids = [];
      run.onProgress({ lines, bytes, totalBytes: file.bytes, deferred: 0 });
      await yieldToOthers();
    }
    run.candidates?.name(ids);
    if (run.report.refusedCount() === 0) applyWhole(run, file.fd);
    return splitter.state();
  } finally {
    closeSync(file.fd);
  }
}

function checkLine(run: ImportRun, line: SplitLine): number | null {
  const parsed = readLine(run, line);
  if (!('reason' in parsed)) return parsed.id;
  refuseLine(run, { number: line.number, id: parsed.id, raw: rawOf(line) }, parsed);
  return null;
}

function applyWhole(run: ImportRun, fd: number): void {
  const { db, clock, apply, merge, onKeys, confirms, asOfMs } = run;
  const refusedLines = createLineSet();
  const refuse = ({ line, id, refusal }: Loser): void => {
    refusedLines.add(line);
    // The line itself is written below, since its text may no longer be in memory.
    refuseLine(run, { number: line, id, raw: null }, refusal);
  };
  try {
    const done = writeProfiles(db, (tx) => {
      const takenAt = createTakenAtTable(db.$client);
      const times = { nowMs: clock.nowMs(), asOfMs };
      const options = { merge, onKeys, confirms, times, takenAt, refuse, conflict: refuse };
      const applied = apply(tx, entriesOf(run, fd, refuse), options);
      if (run.report.refusedCount() > 0) throw ROLL_BACK;
      return applied;
    });
    run.report.applied(done);
  } catch (error) {
    if (error !== ROLL_BACK) throw error;
    if (run.rejects === null) return;
    for (const { line } of readLines(fd)) {
      const raw = line === null || !refusedLines.has(line.number) ? null : rawOf(line);
      if (raw !== null) run.rejects.writeLine(raw);
    }
  }
}

function* entriesOf({ merge }: ImportRun, fd: number, refuse: (loser: Loser) => void): Generator<Entry> {
  for (const { line } of readLines(fd)) {
    if (line === null) continue;
    // Checked again, because the file may have changed since.
    const parsed = 'fault' in line ? { id: null, ...wholeLine(line.fault) } : parseLine(line.text, merge);
    if ('reason' in parsed) refuse({ line: line.number, id: parsed.id ?? 0, refusal: parsed, isForName: false });
    else if ('bytes' in line) yield { number: line.number, bytes: line.bytes, line: parsed };
  }
}

/** A set of line numbers that uses one bit for each line of the file. */
function createLineSet(): { add: (line: number) => void; has: (line: number) => boolean } {
  let bits = new Uint8Array(1_024);
  return {
    add: (line) => {
      const at = line >> 3;
      if (at >= bits.length) {
        const more = new Uint8Array(2 * at);
        more.set(bits);
        bits = more;
      }
      bits[at] = (bits[at] as number) | (1 << (line & 7));
    },
    has: (line) => ((bits[line >> 3] ?? 0) & (1 << (line & 7))) !== 0,
  };
}

type Step = { line: SplitLine | null; bytes: number; lines: number };

/** Yields the lines of a file, and a null after each chunk. */
function* readLines(fd: number, splitter = createLineSplitter()): Generator<Step> {
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
    // Without a name, it disappears when this process ends, however it ends.
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

/** On the disk if it is large, unlike a map. */
function createTakenAtTable(sqlite: Sqlite): TakenAt {
  sqlite.run('DROP TABLE IF EXISTS temp.taken_at');
  sqlite.run('CREATE TEMP TABLE taken_at (what TEXT PRIMARY KEY, line INTEGER NOT NULL) WITHOUT ROWID');
  const get = sqlite.prepare<{ line: number }, [string]>('SELECT line FROM temp.taken_at WHERE what = ?');
  const set = sqlite.prepare('INSERT OR REPLACE INTO temp.taken_at VALUES (?, ?)');
  return { get: (what) => get.get(what)?.line, set: (what, line) => set.run(what, line) };
}
