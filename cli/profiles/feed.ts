import type { Command } from 'commander';
import { noteTokenUse } from '../../shared/backends/token-uses.ts';
import { lockForFeed } from '../../shared/db-files/import-lock.ts';
import type { Deps } from '../../shared/deps.ts';
import { effectsOfBackend } from '../../shared/erasure/feed-policy.ts';
import { AppError, isForOperator } from '../../shared/errors.ts';
import type { FeedCounts, FeedEnd, FeedHead } from '../../shared/profiles/import/feed.ts';
import { importProfiles } from '../../shared/profiles/import/import.ts';
import { checkBeginning } from '../../shared/profiles/import/import-source.ts';
import { formatFault } from '../../shared/profiles/import/source-format.ts';
import { openSessionsFile } from '../../shared/sessions-file/sessions-file.ts';
import { withContext } from '../database.ts';
import { lowerPriority } from '../service/lower-priority.ts';
import { refuseOtherProgram } from '../service/same-program.ts';
import { writeOutput } from '../terminal/stdout.ts';

/**
 * Imports the profiles that a backend sends to a server. The server pipes them to this process
 * (`shared/profiles/import/feed.ts`), so that lookups don't wait for the import; `server` is its version. Prints the outcome
 * as one line of JSON, and exits with 0 even if the import is refused.
 */
export async function importForServer(command: Command, server: string): Promise<void> {
  lowerPriority();
  const end = await endOf(async () => {
    refuseOtherProgram(server);
    return withContext(command, 'use', ({ deps }) => importFeed(deps));
  });
  writeOutput(`${JSON.stringify(end)}\n`);
}

/** The outcome of a feed; a refusal becomes its fault. */
async function endOf(feed: () => Promise<FeedEnd>): Promise<FeedEnd> {
  try {
    return await feed();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: { code: error.code, sentence: error.message, isForClient: !isForOperator(error) } };
  }
}

async function importFeed(deps: Deps): Promise<FeedEnd> {
  using lock = lockForFeed(deps.config.databasePath);
  if (lock === null) throw new AppError('feed_running');
  const { head, rest } = await readHead(process.stdin);
  const unnoted = noteUse(deps, head.token);
  const end = await endOf(async () => ({ done: await importLines(deps, head, rest) }));
  return unnoted === null ? end : { ...end, unnoted };
}

async function importLines(deps: Deps, head: FeedHead, lines: AsyncIterable<Uint8Array>): Promise<FeedCounts> {
  const config = { ...deps.config, maxProfileBytes: head.maxProfileBytes };
  const outcome = await importProfiles({ ...deps, config }, await checkBeginning(lines, refuseOtherFormat), {
    merge: head.merge,
    strict: !head.partial,
    ...(head.asOfMs !== null && { asOfMs: head.asOfMs }),
    by: { kind: 'platform', name: head.name },
    onKeys: effectsOfBackend(head, config),
  });
  const { imported, deleted, newer, refused, dropped, details } = outcome;
  const { notThere, unaddressed, newerIds } = details;
  return { imported, deleted, notThere, unaddressed, newer, newerIds, refused, dropped };
}

/** Records the use of the token. If that fails, the import continues; returns why. */
function noteUse({ config, clock }: Deps, token: string): string | null {
  try {
    const sessions = openSessionsFile(config.databasePath);
    using _ = sessions.sqlite;
    noteTokenUse(sessions, clock, token);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

const LF = 0x0a;

/** Reads the first line, and returns it with the rest of the input. */
async function readHead(
  input: AsyncIterable<Uint8Array>,
): Promise<{ head: FeedHead; rest: AsyncIterable<Uint8Array> }> {
  const chunks = input[Symbol.asyncIterator]();
  let held = Buffer.alloc(0);
  let end = -1;
  while (end === -1) {
    const { done, value } = await chunks.next();
    if (done) throw cutOff();
    held = Buffer.concat([held, value]);
    end = held.indexOf(LF);
  }
  const head = JSON.parse(held.toString('utf8', 0, end)) as FeedHead;
  return { head, rest: restOf(head, held.subarray(end + 1), chunks) };
}

/** The lines. Throws if their length differs from the announced one: the server has died, and nothing may be imported. */
async function* restOf(
  { bytes }: FeedHead,
  first: Uint8Array,
  chunks: AsyncIterator<Uint8Array>,
): AsyncIterable<Uint8Array> {
  let seen = first.length;
  if (first.length > 0) yield first;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
    seen += next.value.length;
    yield next.value;
  }
  if (bytes !== null && seen !== bytes) throw cutOff();
}

/** Throws if a body begins like a file of another format. */
function refuseOtherFormat(beginning: Uint8Array): void {
  if (formatFault(beginning, null) === null) return;
  throw new AppError('refused', 'The body must be JSON Lines in UTF-8, one object per line; nothing was changed.');
}

function cutOff(): AppError {
  return new AppError('refused', 'The lines arrived incomplete; nothing was changed.');
}
