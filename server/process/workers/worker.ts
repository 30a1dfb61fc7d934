import { openThreadClock } from '../../../shared/clock.ts';
import type { Opened } from '../../../shared/db/connect.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { joinLimits } from '../../../shared/limits/threads/worker.ts';
import { createUsageCounter, takeUsage, type UsageCounter } from '../../../shared/usage/usage-counter.ts';
import { createApp } from '../../app.ts';
import { joinSendBuffers } from '../../http/send-buffer-limit.ts';
import { joinThrottle } from '../../http/throttle.ts';
import { type Counts, countAnswer, createCounts, METRICS_TYPE } from '../../observability/counts.ts';
import { gatherLines, type LogOutput } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { type Listener, reloadListener, startListening, stopListening } from '../listener.ts';
import type { Connection } from '../portal-bridge.ts';
import { createService } from '../service.ts';
import type { FromWorker, Order, Start, ToWorker } from './messages.ts';

// This file runs in each worker: a server on the common port, with its own connection to the database. Counts that have to be
// exact across all workers are in shared memory. Usage, metrics and log lines are sent to the main thread.

declare const self: { onmessage: (event: { data: ToWorker }) => void };

/** How long a worker may hold counts and log lines, which are lost if it dies. */
const REPORT_EVERY_MS = 250;
const LOG_PAUSE_MS = 5;

type WorkerResources = {
  readonly listener: Listener;
  readonly db: Opened;
  readonly usage: UsageCounter;
  readonly log: LogOutput;
  /** The counts of responses since the last report. */
  counts: Counts;
  timer: Timer | null;
};

const thread = {
  /** Null until the order to start was carried out. */
  serving: null as WorkerResources | null,
  /** Called when the main thread has written the log lines that were sent last. */
  onLogged: (): void => {},
  /** The requests to /metrics that wait for the main thread, by their number. */
  metricsReaders: new Map<number, PromiseWithResolvers<string>>(),
  metricsRequests: 0,
  /** Called with the port to the portal's thread that this thread requested. */
  onPortal: (_: Connection | null): void => {},
  onPortalEnd: (): void => {},
};

self.onmessage = ({ data }) => {
  if (data.kind === 'order') void carryOut(data.id, data.order);
  else if (data.kind === 'logged') thread.onLogged();
  else if (data.kind === 'metrics') receiveMetrics(data.id, data.text);
  else if (data.kind === 'portal') thread.onPortal(data.connection);
  else thread.onPortalEnd();
};

function post(message: FromWorker): void {
  postMessage(message);
}

async function carryOut(id: number, order: Order): Promise<void> {
  try {
    if (order.kind === 'start') thread.serving = await startServing(order.start);
    else if (thread.serving !== null) await carryOutServing(thread.serving, order);
    post({ kind: 'done', id, fault: null });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    post({ kind: 'done', id, fault: { code: error.code, message: error.message } });
  }
}

async function carryOutServing(serving: WorkerResources, order: Exclude<Order, { kind: 'start' }>): Promise<void> {
  if (order.kind === 'report') sendReport(serving);
  else if (order.kind === 'reload') await reloadListener(serving.listener, order.tls);
  else await stopServing(serving);
}

async function startServing({
  number,
  config,
  port,
  tls,
  drainMs,
  answerMs,
  feedCommand,
  ...memory
}: Start): Promise<WorkerResources> {
  const clock = openThreadClock();
  const db = openDatabase(config.databasePath, 'serve');
  const log = gatherLines((lines, done) => {
    post({ kind: 'log', lines });
    thread.onLogged = () => setTimeout(done, LOG_PAUSE_MS, 'sent');
  });
  const counter = createUsageCounter(clock);
  const metrics: Metrics = {
    count: (route, status, code, milliseconds) => countAnswer(serving.counts, route, status, code, milliseconds),
    read: requestMetrics,
    contentType: METRICS_TYPE,
  };
  const shared = {
    limits: joinLimits(memory.limits, number, clock),
    throttle: joinThrottle(memory.throttle, number, clock),
    sendBuffers: joinSendBuffers(memory.sendBuffers, number - 1),
    counter,
  };
  const deps = { ...createDeps(db, config), clock };
  const end = (thread: number) => post({ kind: 'portal hangs', thread });
  const service = createService(deps, log.write, {
    metrics: config.metricsToken === null ? null : metrics,
    shared,
    portal: { connect: requestPortal, end, answerMs },
    feedCommand,
  });
  const listener = startListening(service, createApp(service), port, { shared: { tls }, drainMs });
  const serving: WorkerResources = { listener, db, usage: counter, log, counts: createCounts(), timer: null };
  serving.timer = setInterval(sendReport, REPORT_EVERY_MS, serving);
  return serving;
}

/** Sends the counts since the last report, if there are any. */
function sendReport(serving: WorkerResources): void {
  const usage = takeUsage(serving.usage, Number.POSITIVE_INFINITY);
  if (usage.length === 0 && serving.counts.routes.size === 0) return;
  post({ kind: 'report', usage, counts: serving.counts });
  serving.counts = createCounts();
}

async function stopServing(serving: WorkerResources): Promise<void> {
  await stopListening(serving.listener);
  if (serving.timer !== null) clearInterval(serving.timer);
  sendReport(serving);
  await serving.log.drain();
  serving.db.$client.close();
}

/** Requests the metrics of all workers from the main thread. Throws `busy`. */
function requestMetrics(): Promise<string> {
  const reader = Promise.withResolvers<string>();
  const id = ++thread.metricsRequests;
  thread.metricsReaders.set(id, reader);
  post({ kind: 'metrics', id });
  return reader.promise;
}

/** Requests a port to the portal's thread, one at a time. Throws `too_many_pages` if that thread has just died. */
async function requestPortal(onEnd: () => void): Promise<Connection> {
  const { promise, resolve } = Promise.withResolvers<Connection | null>();
  thread.onPortal = resolve;
  thread.onPortalEnd = onEnd;
  post({ kind: 'portal' });
  const connection = await promise;
  if (connection === null) throw new AppError('too_many_pages');
  return connection;
}

function receiveMetrics(id: number, text: string | null): void {
  const reader = thread.metricsReaders.get(id);
  thread.metricsReaders.delete(id);
  if (text === null) reader?.reject(new AppError('busy', 'The metrics of all workers are not available now.'));
  else reader?.resolve(text);
}
