import { openThreadClock } from '../../../shared/clock.ts';
import { openDatabase } from '../../../shared/db/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { joinLimits } from '../../../shared/limits/threads/worker.ts';
import { createTallies } from '../../../shared/usage/usage-counter.ts';
import { createApp } from '../../app.ts';
import { openExchange } from '../../request/chain.ts';
import { joinThrottle } from '../../request/throttle.ts';
import { joinUnsent } from '../../request/unsent.ts';
import { countAnswer, createCounts, METRICS_TYPE } from '../../watching/counts.ts';
import { gatherLines } from '../../watching/log-output.ts';
import type { Metrics } from '../../watching/metrics.ts';
import { type Fetch, startListening } from '../listener.ts';
import { createService } from '../service.ts';
import type { FromWorker, Order, Start, ToWorker } from './messages.ts';

// What runs in each worker: a server of its own on the common port, with a database connection of its own. What counts for all
// is in shared memory; what is only added up (usage, metrics) or passed on (the log) goes to the main thread.

declare const self: { onmessage: (event: { data: ToWorker }) => void };

const post = (message: FromWorker) => postMessage(message);

/** How long counts and lines may wait here: what a worker that dies takes with it. */
const REPORT_EVERY_MS = 250;
const LOG_PAUSE_MS = 5;

let onLogged = () => {};
const askers = new Map<number, PromiseWithResolvers<string>>();
let asked = 0;
let serving: Awaited<ReturnType<typeof serve>> | null = null;

self.onmessage = ({ data }) => {
  if (data.kind === 'order') void carryOut(data.id, data.order);
  else if (data.kind === 'logged') onLogged();
  else answerMetrics(data.id, data.text);
};

async function carryOut(id: number, order: Order): Promise<void> {
  try {
    if (order.kind === 'start') serving = await serve(order.start);
    else if (order.kind === 'report') serving?.report();
    else if (order.kind === 'reload') await serving?.listener.reloadTls(order.tls);
    else await serving?.stop();
    post({ kind: 'done', id, fault: null });
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    post({ kind: 'done', id, fault: { code: error.code, message: error.message } });
  }
}

async function serve({ number, config, port, tls, drainMs, limits, throttle, unsent }: Start) {
  const clock = await openThreadClock();
  const db = openDatabase(config.databasePath, 'serve');
  const log = gatherLines((lines, done) => {
    post({ kind: 'log', lines });
    onLogged = () => setTimeout(done, LOG_PAUSE_MS, 'sent');
  });
  const tallies = createTallies(clock);
  let counts = createCounts();
  const metrics: Metrics = {
    count: (route, status, code, milliseconds) => countAnswer(counts, route, status, code, milliseconds),
    read: askMetrics,
    contentType: METRICS_TYPE,
  };
  const shared = {
    limits: joinLimits(limits, number, clock),
    throttle: joinThrottle(throttle, number, clock),
    usage: { ...tallies, save: () => true, close: () => {} },
    unsent: joinUnsent(unsent, number - 1),
  };
  const deps = { ...createDeps(db, config), clock };
  const service = createService(deps, log.write, config.metricsToken === null ? null : metrics, shared);
  const app = createApp(service);
  const fetch: Fetch = (request, peer) => app(openExchange(service, request, peer));
  const listener = startListening(config, port, fetch, { shared: { tls }, drainMs });

  function report(): void {
    const usage = tallies.take(Number.POSITIVE_INFINITY);
    if (usage.length === 0 && counts.routes.size === 0) return;
    post({ kind: 'report', usage, counts });
    counts = createCounts();
  }
  const timer = setInterval(report, REPORT_EVERY_MS);

  async function stop(): Promise<void> {
    await listener.stop();
    clearInterval(timer);
    report();
    await log.drain();
    db.$client.close();
  }
  return { listener, report, stop };
}

/** The main thread knows what all workers have counted. */
function askMetrics(): Promise<string> {
  const asker = Promise.withResolvers<string>();
  askers.set(++asked, asker);
  post({ kind: 'metrics', id: asked });
  return asker.promise;
}

function answerMetrics(id: number, text: string | null): void {
  const asker = askers.get(id);
  askers.delete(id);
  if (text === null) asker?.reject(new AppError('busy', 'The metrics of all workers are not to be had now.'));
  else asker?.resolve(text);
}
