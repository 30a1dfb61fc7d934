import { Me } from '../../../shared/api/manage-bodies.ts';
import { AppError } from '../../../shared/errors.ts';
import { NOTHING_APPLIED } from '../../../shared/profiles/edit/pass.ts';
import { sumOfHeld, WAITS_BEHIND } from '../../../shared/profiles/edit/refusal.ts';
import { FEED_LIMITS } from '../../../shared/profiles/import/feed.ts';
import { type ImportOptions, withImportedCount } from '../../../shared/profiles/import/import.ts';
import {
  createImportReport,
  type ImportOutcome,
  type ImportReport,
} from '../../../shared/profiles/import/import-report.ts';
import { refuseLine } from '../../../shared/profiles/import/import-run.ts';
import {
  chunksOf,
  type ImportSource,
  nameOf,
  sizeOf,
  sourceFault,
} from '../../../shared/profiles/import/import-source.ts';
import type { Rejects } from '../../../shared/profiles/import/rejects.ts';
import { createLineSplitter, type SplitLine } from '../../../shared/profiles/import/split.ts';
import { type AskedHost, askHost } from '../client.ts';
import { type CheckedLine, checkLine, type RejectedLine, rejectedLine } from './check-line.ts';
import { createDeferredLines, type DeferredLines } from './deferred-lines.ts';
import { type LineRefused, type SentEnd, sendLines, type Tries } from './send-lines.ts';

// "profiles import" to a remote server. Lines are first checked here, by the same rules; valid ones are sent in batches, one
// per request. Lines that the server refuses are reported with their numbers in the file.

/** How to import; the same options as for the local database. */
export type RemoteImport = Pick<
  ImportOptions,
  'merge' | 'asOfMs' | 'strict' | 'onProgress' | 'onRefused' | 'onWarning'
> & {
  rejects?: Rejects;
  /** The size of a batch: it is sent once it has this many lines or bytes. */
  batchLimits?: { lines: number; bytes: number };
  tries?: Tries;
};

/** A batch has at most 10 000 lines, because a response lists at most 10 000 refused lines. */
const BATCH_LIMITS = { lines: 10_000, bytes: 8 * 2 ** 20 };

type Run = {
  host: AskedHost;
  merge: boolean;
  asOfMs: number | undefined;
  report: ImportReport;
  rejects: Rejects | null;
  tries: Tries | undefined;
  onProgress: NonNullable<ImportOptions['onProgress']>;
  onWarning: (sentence: string) => void;
};

/**
 * Sends JSON Lines to a server with the token of a backend. Memory does not grow with the file. Throws `forbidden` for another
 * token, the errors of `importProfiles` about the source, and `done_in_part` for an error after some lines were imported.
 */
export async function importToHost(
  host: AskedHost,
  source: ImportSource,
  { merge, asOfMs, strict, rejects, onProgress = () => {}, onRefused, onWarning = () => {}, ...more }: RemoteImport,
): Promise<ImportOutcome> {
  await checkRight(host);
  const report = createImportReport(onRefused);
  const run: Run = { host, merge, asOfMs, report, rejects: rejects ?? null, tries: more.tries, onProgress, onWarning };
  try {
    const blank = strict
      ? await sendWhole(run, source)
      : await sendInBatches(run, source, more.batchLimits ?? BATCH_LIMITS);
    if (report.lineCount() === 0) throw new AppError('refused', `${nameOf(source)} has no lines; nothing was changed.`);
    return report.outcome(blank);
  } catch (error) {
    throw withImportedCount(sourceFault(source, error) ?? error, report.appliedCount());
  }
}

/** Checks that the token may import profiles. */
async function checkRight(host: AskedHost): Promise<void> {
  const { body } = await askHost(host, { method: 'GET', path: '/me', answer: Me });
  if (body.kind === 'platform' && body.rights.includes('profiles')) return;
  throw new AppError(
    'forbidden',
    'Sending profiles needs a backend\'s token with the "profiles" right in PROFILECTL_TOKEN; "profilectl tokens add" on the server itself creates one.',
  );
}

/** Sends the lines in batches, and the deferred ones again at the end. Returns the number of blank lines. */
async function sendInBatches(run: Run, source: ImportSource, max: { lines: number; bytes: number }): Promise<number> {
  const totalBytes = sizeOf(source);
  const splitter = createLineSplitter(run.rejects?.writePiece);
  let rejected: RejectedLine[] = [];
  const deferred = createDeferredLines(run.merge);
  let batch: CheckedLine[] = [];
  let batchBytes = 0;
  const inBatch = new Set<number>();
  let bytes = 0;
  let lines = 0;

  const flush = async (): Promise<void> => {
    const { refused, ...applied } = await send(run, batch, true);
    run.report.applied(applied);
    rejected.push(...sortOut(run, batch, refused, deferred));
    refuseAll(run, rejected);
    [rejected, batch, batchBytes] = [[], [], 0];
    inBatch.clear();
    run.onProgress({ lines, bytes, totalBytes, deferred: deferred.count() });
  };
  const addLine = async (line: SplitLine): Promise<void> => {
    lines = line.number;
    const checked = checkLine(run, line);
    // Merged names may be valid or not depending on the names before, which are known after the request with those.
    if (run.merge && 'setsNames' in checked && checked.setsNames && inBatch.has(checked.id)) await flush();
    if ('refusal' in checked) rejected.push(checked);
    else if (deferred.has(checked.id))
      rejected.push(...(deferred.add(checked) ? [] : [rejectedLine(checked, WAITS_BEHIND)]));
    else {
      batch.push(checked);
      inBatch.add(checked.id);
      batchBytes += checked.bytes;
    }
    if (batch.length + rejected.length >= max.lines || batchBytes >= max.bytes) await flush();
  };

  for await (const chunk of chunksOf(source)) {
    bytes += chunk.length;
    for (const line of splitter.push(chunk)) await addLine(line);
  }
  for (const line of splitter.end()) await addLine(line);
  await flush();
  const last = deferred.lines();
  const { refused, ...applied } = await send(run, last, true);
  run.report.applied(applied);
  refuseAll(run, sortOut(run, last, refused, null));
  return splitter.state().blank;
}

/** Sends all lines in one request, which imports all or none of them. Returns the number of blank lines. */
async function sendWhole(run: Run, source: ImportSource): Promise<number> {
  const max = FEED_LIMITS.whole;
  const splitter = createLineSplitter(run.rejects?.writePiece);
  const good: CheckedLine[] = [];
  const rejected: RejectedLine[] = [];
  let bytes = 0;
  const addLine = (line: SplitLine): void => {
    const checked = checkLine(run, line);
    if ('refusal' in checked) rejected.push(checked);
    else good.push(checked);
    bytes += 'refusal' in checked ? 0 : checked.bytes + 1;
    if (good.length + rejected.length <= max.lines && bytes <= max.bytes) return;
    throw new AppError(
      'refused',
      `With --strict a server accepts at most ${max.lines} lines and ${max.bytes / 2 ** 20} MiB; nothing was changed. Leave --strict out, or import the file on the server itself.`,
    );
  };
  for await (const chunk of chunksOf(source)) for (const line of splitter.push(chunk)) addLine(line);
  for (const line of splitter.end()) addLine(line);
  const { refused, ...applied } = await send(run, rejected.length === 0 ? good : [], false);
  if (refused.length === 0) run.report.applied(applied);
  refuseAll(run, [...rejected, ...sortOut(run, good, refused, null)]);
  return splitter.state().blank;
}

const NOTHING: SentEnd = { ...NOTHING_APPLIED, refused: [] };

async function send(
  { host, merge, asOfMs, onWarning, tries }: Run,
  lines: readonly CheckedLine[],
  partial: boolean,
): Promise<SentEnd> {
  if (lines.length === 0) return NOTHING;
  return sendLines(host, lines, { merge, asOfMs, partial, onWarning, ...(tries !== undefined && { tries }) });
}

/** Defers the refused lines that may succeed at the end, and returns the others. */
function sortOut(
  { report }: Run,
  lines: readonly CheckedLine[],
  refused: readonly LineRefused[],
  deferred: DeferredLines | null,
): RejectedLine[] {
  const refusedAt = new Map(refused.map((one) => [one.at, one]));
  return lines.flatMap((line, at) => {
    const one = refusedAt.get(at);
    if (one === undefined) {
      // Deferred lines of a profile that was then erased count as imported.
      const imported = deferred?.overtake(line) ?? 0;
      if (imported > 0) report.applied({ ...NOTHING_APPLIED, imported });
      return [];
    }
    // Whatever the reason, a line may succeed after an earlier deferred line of its profile.
    const mayWait = deferred !== null && (sumOfHeld(one.reason) !== null || deferred.has(line.id));
    return mayWait && deferred.add(line) ? [] : rejectedLine(line, one);
  });
}

function refuseAll(run: Run, rejected: readonly RejectedLine[]): void {
  for (const line of rejected.toSorted((a, b) => a.number - b.number)) refuseLine(run, line, line.refusal);
}
