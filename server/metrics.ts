import { Counter, Gauge, type Metric, Registry } from 'prom-client';
import type { Clock } from '../shared/clock.ts';
import type { Opened } from '../shared/db/open.ts';
import { databaseSize } from '../shared/db/size.ts';
import type { ErrorCode } from '../shared/errors.ts';
import { type KeyFigures, readKeyFigures } from '../shared/keys/figures.ts';
import { VERSION } from '../shared/version.ts';
import {
  addCounts,
  BUCKETS,
  type Counts,
  countAnswer,
  createCounts,
  METRICS_TYPE,
  type RouteCounts,
} from './counts.ts';

/** What the server counts for whoever watches it. */
export type Metrics = {
  /** Counts one answer; `route` is its template, or null where nothing is there. A quarter of a microsecond. */
  count: (route: string | null, status: number, code: ErrorCode | null, milliseconds: number) => void;
  /** All of it in Prometheus' text form, with what the database holds now. Throws `busy`. */
  read: () => Promise<string>;
  /** The media type of this form. */
  contentType: string;
};

/** How many workers have died and were started again; none where there are none. */
export type Restarts = () => number;

/** Begins to count, from zero. Loaded only where there is a METRICS_TOKEN, since prom-client takes 40 ms to load. */
export function createMetrics(
  { db, clock }: { db: Opened; clock: Clock },
  restarts: Restarts = () => 0,
): Metrics & { add: (more: Counts) => void } {
  const registry = new Registry();
  const counts = createCounts();
  describeRequests(registry, counts);
  const setFigures = describeKeys(registry, clock);
  describeProcess(registry, db, clock, restarts);
  return {
    count: (route, status, code, milliseconds) => countAnswer(counts, route, status, code, milliseconds),
    add: (more) => addCounts(counts, more),
    read: async () => {
      setFigures(readKeyFigures(db, clock.nowMs()));
      return registry.metrics();
    },
    contentType: METRICS_TYPE,
  };
}

/** Handed over when somebody reads. */
function describeRequests(registry: Registry, { routes, refusals }: Counts): void {
  const durations = {
    name: 'profile_lookup_http_request_duration_seconds',
    help: 'Time from taking a request in to its answer, by route.',
    type: 'histogram',
    get() {
      return { ...this, values: [...routes].flatMap(([route, counted]) => histogramOf(this.name, route, counted)) };
    },
  };
  // What the library's own histogram would give: it can only be fed one observation at a time.
  registry.registerMetric(durations as unknown as Metric);
  new Counter({
    name: 'profile_lookup_http_requests_total',
    help: 'Answers by route and status; the route is "none" where nothing is there.',
    labelNames: ['route', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [route, { byStatus }] of routes) {
        for (const [status, count] of byStatus) this.inc({ route, status }, count);
      }
    },
  });
  new Counter({
    name: 'profile_lookup_refusals_total',
    help: 'Refused requests by what was wrong.',
    labelNames: ['code'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [code, count] of refusals) this.inc({ code }, count);
    },
  });
}

/** The samples of a Prometheus histogram: each bucket counts what the smaller ones do. */
function histogramOf(name: string, route: string, { buckets, seconds }: RouteCounts) {
  let sum = 0;
  const samples = buckets.map((count, index) => {
    sum += count;
    return { metricName: `${name}_bucket`, labels: { le: BUCKETS[index] ?? '+Inf', route }, value: sum };
  });
  return [
    ...samples,
    { metricName: `${name}_sum`, labels: { route }, value: seconds },
    { metricName: `${name}_count`, labels: { route }, value: sum },
  ];
}

/** What the database says; kept there, since it is the command line that approves and mails. */
function describeKeys(registry: Registry, clock: Clock): (figures: KeyFigures) => void {
  const registers = [registry];
  const keys = new Gauge({
    name: 'profile_lookup_keys',
    help: 'API keys by state; pending ones are the queue.',
    labelNames: ['state'],
    registers,
  });
  const oldest = new Gauge({
    name: 'profile_lookup_oldest_pending_request_age_seconds',
    help: 'How long the oldest pending request waits; 0 where none does.',
    registers,
  });
  const open = new Gauge({
    name: 'profile_lookup_approval_attempts_open',
    help: 'Approvals whose mail is on its way.',
    registers,
  });
  const approvals = new Counter({
    name: 'profile_lookup_approval_mails_total',
    help: 'Approval mails by outcome, since the database was made.',
    labelNames: ['outcome'],
    registers,
  });
  const reminders = new Gauge({
    name: 'profile_lookup_reminders',
    help: 'Reminders of an expiry, by what became of the last try.',
    labelNames: ['result'],
    registers,
  });
  return ({ states, oldestPendingAt, attempts, reminders: sent }) => {
    for (const [state, count] of Object.entries(states)) keys.set({ state }, count);
    oldest.set(oldestPendingAt === null ? 0 : Math.max(0, clock.nowMs() - oldestPendingAt) / 1000);
    const { open: underWay, ...ended } = attempts;
    open.set(underWay);
    approvals.reset();
    for (const [name, count] of Object.entries(ended)) approvals.inc({ outcome: labelOf(name) }, count);
    for (const [name, count] of Object.entries(sent)) reminders.set({ result: labelOf(name) }, count);
  };
}

function labelOf(name: string): string {
  return name.replaceAll(' ', '_');
}

function describeProcess(registry: Registry, db: Opened, clock: Clock, restarts: Restarts): void {
  const registers = [registry];
  new Gauge({
    name: 'profile_lookup_info',
    help: 'The version, as a label.',
    labelNames: ['version'],
    registers,
  }).set({ version: VERSION }, 1);
  new Gauge({
    name: 'profile_lookup_database_size_bytes',
    help: 'The database file and its write-ahead log.',
    labelNames: ['file'],
    registers,
    collect() {
      for (const [file, bytes] of Object.entries(databaseSize(db.$client.filename))) this.set({ file }, bytes);
    },
  });
  new Counter({
    name: 'profile_lookup_worker_restarts_total',
    help: 'Workers that died and were replaced; there are none where WORKERS is 1.',
    registers,
    collect() {
      this.reset();
      this.inc(restarts());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the server started, seconds since 1970.',
    registers,
  }).set(clock.nowMs() / 1000);
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory that the process holds.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time, user and system.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
}
