import { readBackendToken } from '../../../shared/backends/backend-tokens.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { AppError } from '../../../shared/errors.ts';
import { FEED_LIMITS, type FeedEnd, type FeedHead, type FeedOrder } from '../../../shared/profiles/import/feed.ts';
import type { Answer } from '../../http/answers.ts';
import { refuse } from '../../http/errors.ts';
import type { RequestState } from '../../http/request-state.ts';
import { credentialsOf } from '../../http/with-key.ts';
import { readQuery } from '../../manage/input.ts';
import { FEED_QUERY, orderOf } from '../../manage/operations/profiles.ts';
import { cantStart } from '../own-program.ts';
import { forwardCall } from '../portal-forward.ts';
import type { Service } from '../service.ts';
import { type CutOff, keepConnection, keepPace } from './arrival.ts';
import { type Counted, countLines, readWhole } from './lines.ts';

// Imports a backend's profiles in a child process of low priority, so that lookups stay as fast as during any import; this
// thread only pipes the lines to it. A child that dies leaves whole batches, or nothing.

type Child = Bun.Subprocess<'pipe', 'pipe', 'ignore'>;

/** The Retry-After while another request is processed, in seconds; most requests are short. */
const RETRY_SECONDS = 2;

/** The Retry-After while the server has to be restarted, in seconds. */
const RESTART_SECONDS = 60;

const AFTER_UPGRADE =
  'The service was upgraded and has to be restarted before it accepts profiles; nothing was changed.';

const LINES_TYPE = /^application\/jsonl\s*(;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Imports the lines of a request whose token may send profiles, and forwards every other request without its body to the
 * portal, which refuses it. Throws refusals.
 */
export async function answerFeed(service: Service, request: Request, state: RequestState): Promise<Answer | Response> {
  const { method, headers, url } = request;
  const sent = credentialsOf(headers.get('authorization'));
  const { db, clock } = service.deps;
  const token = sent === null ? null : readBackendToken(withTables(db), sent);
  if (!token?.rights.includes('profiles')) return forwardCall(service, new Request(url, { method, headers }), state);
  const order = orderOf(token, readQuery(FEED_QUERY, request), clock.nowMs());
  return await importLines(service, request, state, order);
}

async function importLines(
  service: Service,
  request: Request,
  state: RequestState,
  order: FeedOrder,
): Promise<Answer | Response> {
  const { headers } = request;
  const { feed } = service;
  const limits = FEED_LIMITS[order.partial ? 'partial' : 'whole'];
  if (!LINES_TYPE.test(headers.get('content-type') ?? '') || headers.has('content-encoding')) {
    throw new AppError('not_lines');
  }
  if (Number(headers.get('content-length') ?? 0) > limits.bytes) throw tooLong(order.partial);
  if (feed.command === null) throw new AppError('not_ready', null);
  if (feed.isBusy) throw new AppError('feed_running', null, { retryAfterSeconds: RETRY_SECONDS });
  feed.isBusy = true;
  const restoreIdleTime = keepConnection(service, request);
  try {
    const counted = { lines: 0, bytes: 0 };
    const onTooMany = () => tooLong(order.partial);
    const onCutOff = (how: CutOff) => cutOff(how, order.partial);
    const arriving = keepPace(request.body ?? new Blob([]).stream(), feed.pace, service.deps.clock, onCutOff);
    const body = countLines(arriving, limits, counted, onTooMany);
    const whole = order.partial ? null : await readWhole(body);
    const { maxProfileBytes } = service.deps.config;
    const head: FeedHead = { ...order, maxProfileBytes, bytes: whole?.length ?? null };
    const end = await runChild(feed.command, head, whole === null ? body : [whole], request.signal);
    return answerEnd(service, state, end, order, counted);
  } catch (error) {
    if (error instanceof AppError && error.code === 'lines_cut_off') {
      const { requestId } = state;
      service.log.event('info', `A request with profiles was cut off. ${error.message}`, { requestId });
    }
    throw error;
  } finally {
    feed.isBusy = false;
    restoreIdleTime();
  }
}

/**
 * Runs the child. Throws the errors of reading the lines, and `lines_cut_off` if the client disconnects. The child has always
 * ended afterwards, so that the next one can start.
 */
async function runChild(
  command: readonly string[],
  head: FeedHead,
  lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FeedEnd> {
  // The environment stays empty: the server's variables hold secrets, and an import needs none of them.
  let child: Child;
  try {
    child = Bun.spawn([...command], { env: {}, stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' });
  } catch (error) {
    return { fault: { code: 'not_ready', sentence: cantStart(command, error), isForClient: false } };
  }
  const kill = () => child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  try {
    const output = new Response(child.stdout).text();
    await passOn(child, head, lines);
    const text = await output;
    if (text === '' && signal.aborted) throw cutOff('lost', head.partial, head.bytes !== null);
    return JSON.parse(text) as FeedEnd;
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new AppError('internal', null, { cause: 'The import process ended without a result.' });
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
    await child.exited;
  }
}

/** Pipes the lines to the child as fast as it reads them; stops if it has ended, and its output says why. */
async function passOn(
  child: Child,
  head: FeedHead,
  lines: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const { stdin } = child;
  stdin.write(`${JSON.stringify(head)}\n`);
  for await (const chunk of lines) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const write = () => {
      stdin.write(chunk);
      return stdin.flush();
    };
    if (!(await isRead(write))) return;
  }
  await isRead(() => stdin.end());
}

/** Whether the child reads what is written. If it closed its pipe, Bun may report that only when the pipe is ended here. */
async function isRead(write: () => unknown): Promise<boolean> {
  try {
    await write();
    return true;
  } catch {
    return false;
  }
}

function answerEnd(
  service: Service,
  state: RequestState,
  end: FeedEnd,
  order: FeedOrder,
  { lines }: Counted,
): Answer | Response {
  if (end.unnoted !== undefined) {
    service.log.event('warn', 'The last use of a token could not be recorded.', { cause: end.unnoted });
  }
  if ('fault' in end) throw refusalOfFault(service, end.fault, order);
  const { refused, ...counts } = end.done;
  if (refused.length === 0) return { body: JSON.stringify(end.done) };
  const which = lines === 1 ? 'The line was refused' : 'Some lines were refused';
  const isAnyImported = counts.imported + counts.deleted + counts.notThere > 0;
  const sentence = `${which}; ${order.partial && isAnyImported ? 'the rest was imported' : 'nothing was changed'}.`;
  const { response, code } = refuse(service.refusals, new AppError('lines_refused', sentence), state);
  state.refusal = code;
  const more = order.partial ? end.done : { refused };
  return new Response(JSON.stringify({ error: sentence, ...more }), response);
}

type Fault = Extract<FeedEnd, { fault: object }>['fault'];

function refusalOfFault(service: Service, { code, sentence, isForClient }: Fault, { partial }: FeedOrder): AppError {
  if (code === 'feed_running') return new AppError(code, null, { retryAfterSeconds: RETRY_SECONDS });
  if (code === 'busy' || code === 'try_later') return new AppError('busy', null);
  if (code === 'not_ready') {
    service.log.event('error', `A backend's profiles could not be imported. ${sentence}`);
    return new AppError(code, AFTER_UPGRADE, { isForClient: true, retryAfterSeconds: RESTART_SECONDS });
  }
  if (isForClient && code === 'done_in_part') return new AppError('busy', sentence, { isForClient });
  if (isForClient && code === 'refused') return new AppError('lines_refused', sentence);
  service.log.event('error', `A backend's profiles could not be imported${partial ? ' completely' : ''}. ${sentence}`);
  return new AppError('internal', null, { cause: sentence });
}

/** With `isRead`, all lines arrived, but the client disconnected before the response. */
function cutOff(how: CutOff, partial: boolean, isRead = false): AppError {
  const why = how === 'lost' ? 'The connection ended' : 'Less than 1 KiB/s arrived over 20 s';
  const outcome = partial
    ? 'complete batches may have been imported'
    : isRead
      ? 'either all lines were imported, or none'
      : 'nothing was changed';
  return new AppError('lines_cut_off', `${why}; ${outcome}.`);
}

function tooLong(partial: boolean): AppError {
  const { lines, bytes } = FEED_LIMITS[partial ? 'partial' : 'whole'];
  const max = `${lines.toLocaleString('en').replace(',', ' ')} lines and ${bytes / 2 ** 20} MiB`;
  const sentence = partial
    ? `With partial=1 a request may have ${max}; the lines before that may have been imported. Send the rest in further requests.`
    : `A request may have ${max}, or more with partial=1; nothing was changed.`;
  return new AppError('too_many_lines', sentence);
}
