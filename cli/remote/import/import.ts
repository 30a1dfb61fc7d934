import { Me } from '../../../shared/api/manage-bodies.ts';
import { AppError } from '../../../shared/errors.ts';
import { NOTHING_APPLIED } from '../../../shared/profiles/edit/pass.ts';
import { type Refusal, sumOfHeld, WAITS_BEHIND } from '../../../shared/profiles/edit/refusal.ts';
import { FEED_LIMITS } from '../../../shared/profiles/import/feed.ts';
import { type ImportOptions, withImportedCount } from '../../../shared/profiles/import/import.ts';
import {
  createImportReport,
  type ImportOutcome,
  type ImportReport,
} from '../../../shared/profiles/import/import-report.ts';
import { rawOf, readLine, refuseLine } from '../../../shared/profiles/import/import-run.ts';
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
import { createWaitingLines, type WaitingLines } from './deferred-lines.ts';
import { type CheckedLine, type LineRefused, type SentEnd, sendLines, type Tries } from './send-lines.ts';

// "profiles import" to a server elsewhere. Lines are checked here first, by the same rules; the good ones are sent in parts,
// each in a request of its own, and what the server refuses is reported with its number in the file.

/** How to import; the same words as for the database of this machine. */
export type RemoteImport = Pick<
  ImportOptions,
  'merge' | 'asOfMs' | 'strict' | 'onProgress' | 'onRefused' | 'onWarning'
> & {
  rejects?: Rejects;
  /** A part ends where it has so many lines or bytes. */
  partLimits?: { lines: number; bytes: number };
  tries?: Tries;
};

/** An answer lists 10 000 refused lines at most, so that a part may not have more. */
const PART_LIMITS = { lines: 10_000, bytes: 8 * 2 ** 20 };

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

/** A line that is out for good: what it was, and why. */
type OutLine = { number: number; id: number | null; raw: string | Uint8Array | null; refusal: Refusal };

/**
 * Sends JSON Lines to a server with the token of a backend; memory does not grow with the file. Throws `forbidden` for
 * another token, and what `importProfiles` throws for the source. An error after which some lines are in is `done_in_part`.
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
      : await sendInParts(run, source, more.partLimits ?? PART_LIMITS);
    if (report.lineCount() === 0)
      throw new AppError('refused', `${nameOf(source)} holds no line; nothing was changed.`);
    return report.outcome(blank);
  } catch (error) {
    throw withImportedCount(sourceFault(source, error) ?? error, report.appliedCount());
  }
}

/** Asks who the token is, before anything is sent. */
async function checkRight(host: AskedHost): Promise<void> {
  const { body } = await askHost(host, { method: 'GET', path: '/me', answer: Me });
  if (body.kind === 'platform' && body.rights.includes('profiles')) return;
  throw new AppError(
    'forbidden',
    'Profiles are sent with the token of a backend that has the right profiles ("profilectl tokens add" on the box makes one), in PROFILECTL_TOKEN.',
  );
}

/** Sends the lines part by part, and at the end once more those that waited. Returns how many blank lines there were. */
async function sendInParts(run: Run, source: ImportSource, most: { lines: number; bytes: number }): Promise<number> {
  const totalBytes = sizeOf(source);
  const splitter = createLineSplitter(run.rejects?.writePiece);
  let out: OutLine[] = [];
  const waiting = createWaitingLines(run.merge);
  let part: CheckedLine[] = [];
  let partBytes = 0;
  let bytes = 0;
  let lines = 0;

  const flush = async (): Promise<void> => {
    const { refused, ...applied } = await send(run, part, true);
    run.report.applied(applied);
    out.push(...sortOut(run, part, refused, waiting));
    refuseAll(run, out);
    [out, part, partBytes] = [[], [], 0];
    run.onProgress({ lines, bytes, totalBytes, deferred: waiting.count() });
  };
  const take = async (line: SplitLine): Promise<void> => {
    lines = line.number;
    const checked = checkLine(run, line);
    if ('refusal' in checked) out.push(checked);
    else if (waiting.has(checked.id)) out.push(...(waiting.add(checked) ? [] : [outLine(checked, WAITS_BEHIND)]));
    else {
      part.push(checked);
      partBytes += checked.bytes;
    }
    if (part.length + out.length >= most.lines || partBytes >= most.bytes) await flush();
  };

  for await (const chunk of chunksOf(source)) {
    bytes += chunk.length;
    for (const line of splitter.push(chunk)) await take(line);
  }
  for (const line of splitter.end()) await take(line);
  await flush();
  const last = waiting.lines();
  const { refused, ...applied } = await send(run, last, true);
  run.report.applied(applied);
  refuseAll(run, sortOut(run, last, refused, null));
  return splitter.state().blank;
}

/** All or nothing, in one request. Returns how many blank lines there were. */
async function sendWhole(run: Run, source: ImportSource): Promise<number> {
  const most = FEED_LIMITS.whole;
  const splitter = createLineSplitter(run.rejects?.writePiece);
  const good: CheckedLine[] = [];
  const out: OutLine[] = [];
  let bytes = 0;
  const take = (line: SplitLine): void => {
    const checked = checkLine(run, line);
    if ('refusal' in checked) out.push(checked);
    else good.push(checked);
    bytes += 'refusal' in checked ? 0 : checked.bytes + 1;
    if (good.length + out.length <= most.lines && bytes <= most.bytes) return;
    throw new AppError(
      'refused',
      `With --strict a server takes at most ${most.lines} lines and ${most.bytes / 2 ** 20} MiB; nothing was changed. Leave --strict out, or import the file on the box.`,
    );
  };
  for await (const chunk of chunksOf(source)) for (const line of splitter.push(chunk)) take(line);
  for (const line of splitter.end()) take(line);
  const { refused, ...applied } = await send(run, out.length === 0 ? good : [], false);
  if (refused.length === 0) run.report.applied(applied);
  refuseAll(run, [...out, ...sortOut(run, good, refused, null)]);
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

/** Checks a line by the rules that need no database, and counts it. */
function checkLine(run: Run, line: SplitLine): CheckedLine | OutLine {
  const parsed = readLine(run, line);
  if (!('reason' in parsed) && 'text' in line) {
    const { text, bytes } = line;
    return { number: line.number, id: parsed.id, isDeletion: parsed.deleted, text, body: text, bytes };
  }
  return { number: line.number, id: parsed.id, raw: rawOf(line), refusal: parsed as Refusal };
}

/** What became of the lines of a request: those that are refused for good are returned, others wait for the end. */
function sortOut(
  { report }: Run,
  lines: readonly CheckedLine[],
  refused: readonly LineRefused[],
  waiting: WaitingLines | null,
): OutLine[] {
  const refusedAt = new Map(refused.map((one) => [one.at, one]));
  return lines.flatMap((line, at) => {
    const one = refusedAt.get(at);
    if (one === undefined) {
      // Lines before an erasure count as if they had been in before it.
      const imported = waiting?.overtake(line) ?? 0;
      if (imported > 0) report.applied({ ...NOTHING_APPLIED, imported });
      return [];
    }
    // Whatever a line was refused for, it may go in after one that waits.
    const mayWait = waiting !== null && (sumOfHeld(one.reason) !== null || waiting.has(line.id));
    return mayWait && waiting.add(line) ? [] : outLine(line, one);
  });
}

function outLine({ number, id, text }: CheckedLine, { field, reason }: Omit<LineRefused, 'at'>): OutLine {
  return { number, id, raw: text, refusal: { field, reason, sum: sumOfHeld(reason) ?? reason } };
}

function refuseAll(run: Run, out: readonly OutLine[]): void {
  for (const line of out.toSorted((a, b) => a.number - b.number)) refuseLine(run, line, line.refusal);
}
