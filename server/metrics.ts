import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../shared/clock.ts';
import type { Db } from '../shared/db/open.ts';
import { databaseSize } from '../shared/db/size.ts';
import type { ErrorCode } from '../shared/errors.ts';
import { type KeyFigures, readKeyFigures } from '../shared/keys/figures.ts';
import { VERSION } from '../shared/version.ts';

/** What the server counts for whoever watches it. */
export type Metrics = {
  /** Counts one answer; `route` is its template, or null where nothing is there. A quarter of a microsecond. */
  count: (route: string | null, status: number, code: ErrorCode | null, milliseconds: number) => void;
  /** All of it in Prometheus' text form, with what the database holds now. Throws `busy`. */
  read: () => Promise<string>;
  /** The media type of this form. */
  contentType: string;
};

/** Seconds: most answers take far less than a millisecond, a leaderboard's far page some, a locked database 300. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

type Seen = { byStatus: Map<number, number>; observe: (seconds: number) => void };

/** Begins to count, from zero. Loaded only where there is a METRICS_TOKEN, since prom-client takes 40 ms to load. */
export function createMetrics({ db, clock }: { db: Db; clock: Clock }): Metrics {
  const registry = new Registry();
  const durations = new Histogram({
    name: 'profile_lookup_http_request_duration_seconds',
    help: 'Time from taking a request in to its answer, by route.',
    labelNames: ['route'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const seen = new Map<string, Seen>();
  const refusals = new Map<ErrorCode, number>();
  describeRequests(registry, seen, refusals);
  const setFigures = describeKeys(registry, clock);
  describeProcess(registry, db, clock);

  function newRoute(route: string): Seen {
    const entry = { byStatus: new Map<number, number>(), observe: durations.labels(route).observe };
    seen.set(route, entry);
    return entry;
  }

  return {
    count: (route, status, code, milliseconds) => {
      const label = route ?? 'none';
      const { byStatus, observe } = seen.get(label) ?? newRoute(label);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
      observe(milliseconds / 1000);
      if (code !== null) refusals.set(code, (refusals.get(code) ?? 0) + 1);
    },
    read: async () => {
      setFigures(readKeyFigures(db, clock.nowMs()));
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

/** Counted in plain maps, which take a tenth of the time, and handed over when somebody reads. */
function describeRequests(
  registry: Registry,
  seen: ReadonlyMap<string, Seen>,
  refusals: ReadonlyMap<ErrorCode, number>,
): void {
  new Counter({
    name: 'profile_lookup_http_requests_total',
    help: 'Answers by route and status; the route is "none" where nothing is there.',
    labelNames: ['route', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [route, { byStatus }] of seen) {
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

function describeProcess(registry: Registry, db: Db, clock: Clock): void {
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
    help: 'Workers that died and were started again; this version serves with one process, so none ever is.',
    registers,
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
