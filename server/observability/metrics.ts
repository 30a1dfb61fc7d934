import type { Clock } from '../../shared/clock.ts';
import type { Db } from '../../shared/db/connect.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { readLastBackup } from '../../shared/files/copy.ts';
import { databaseSize, readDiskRoom } from '../../shared/files/disk.ts';
import { type ImportKind, readLastImport } from '../../shared/profiles/import/report.ts';
import { readKeyStats } from '../../shared/usage/stats.ts';
import { VERSION } from '../../shared/version.ts';

/** The media type of Prometheus' text format. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Counts responses, and prints all metrics for Prometheus. */
export type Metrics = {
  /** Counts one response in 0.25 µs; `route` is null if no route matches. */
  count: (route: string | null, status: number, code: ErrorCode | null, milliseconds: number) => void;
  /** All metrics in Prometheus' text format; some are read from the database on each call. */
  read: () => Promise<string>;
};

/** Creates metrics that count from zero. */
export function createMetrics({ db, clock }: { db: Db; clock: Clock }): Metrics {
  const counts: Counts = { routes: new Map(), refusals: new Map() };
  const startedAtMs = clock.nowMs();
  return {
    count: (route, status, code, milliseconds) => countAnswer(counts, route, status, code, milliseconds),
    read: async () =>
      printFamilies([
        ...requestFamilies(counts),
        ...keyFamilies(db, clock.nowMs()),
        ...importFamilies(db, 'import', 'import', clock.nowMs()),
        ...importFamilies(db, 'feed', "import by a backend's request", clock.nowMs()),
        backupFamily(db, clock.nowMs()),
        ...diskFamilies(db.$client.filename),
        ...processFamilies(startedAtMs),
      ]),
  };
}

/** Counts of responses. Plain maps are ten times as fast as a metrics library. */
type Counts = { routes: Map<string, RouteCounts>; refusals: Map<ErrorCode, number> };

/** The responses of a route. `buckets` counts them by duration; its last element counts those above all of {@link BUCKETS}. */
type RouteCounts = { byStatus: Map<number, number>; buckets: number[]; seconds: number };

/**
 * The upper bounds of the histogram's buckets, in seconds. Most responses take far less than a millisecond, a late page of the
 * leaderboard a few, and a response that waits for a locked database 300 ms.
 */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** Counts one response; `route` is null if no route matches. */
function countAnswer(
  { routes, refusals }: Counts,
  route: string | null,
  status: number,
  code: ErrorCode | null,
  milliseconds: number,
): void {
  const seconds = milliseconds / 1000;
  let of = routes.get(route ?? 'none');
  if (of === undefined) {
    of = { byStatus: new Map(), buckets: Array<number>(BUCKETS.length + 1).fill(0), seconds: 0 };
    routes.set(route ?? 'none', of);
  }
  let bucket = 0;
  while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++;
  of.byStatus.set(status, (of.byStatus.get(status) ?? 0) + 1);
  of.buckets[bucket] = (of.buckets[bucket] as number) + 1;
  of.seconds += seconds;
  if (code !== null) refusals.set(code, (refusals.get(code) ?? 0) + 1);
}

function requestFamilies({ routes, refusals }: Counts): Family[] {
  return [
    {
      name: 'profile_lookup_http_request_duration_seconds',
      help: 'Time from receiving a request to its response, by route.',
      type: 'histogram',
      samples: durationSamples(routes),
    },
    {
      name: 'profile_lookup_http_requests_total',
      help: 'Responses by route and status; the route is "none" if no route matches.',
      type: 'counter',
      samples: [...routes].flatMap(([route, { byStatus }]) =>
        [...byStatus].map(([status, count]): Sample => [{ route, status }, count]),
      ),
    },
    {
      name: 'profile_lookup_refusals_total',
      help: 'Refused requests by reason.',
      type: 'counter',
      samples: [...refusals].map(([code, count]) => [{ code }, count]),
    },
  ];
}

/** Each bucket includes the counts of the smaller buckets. */
function durationSamples(routes: Counts['routes']): Sample[] {
  return [...routes].flatMap(([route, { buckets, seconds }]) => {
    let sum = 0;
    const samples = buckets.map((count, index): Sample => {
      sum += count;
      return [{ le: BUCKETS[index] ?? '+Inf', route }, sum, '_bucket'];
    });
    return [...samples, [{ route }, seconds, '_sum'], [{ route }, sum, '_count']];
  });
}

/** Metrics of keys, approvals and mails, read from the database because commands change them too. */
function keyFamilies(db: Db, nowMs: number): Family[] {
  const { states, oldestPendingAt, attempts, mails } = readKeyStats(db, nowMs);
  const { open, ...ended } = attempts;
  return [
    gauge('keys', 'API keys by state; pending ones are the queue.', samplesBy('state', states)),
    gauge(
      'oldest_pending_request_age_seconds',
      'How long the oldest pending request has been waiting; 0 if there is none.',
      ageSeconds(oldestPendingAt ?? nowMs, nowMs),
    ),
    gauge('approval_attempts_open', 'Approvals whose mail is being sent.', open),
    {
      name: 'profile_lookup_approval_mails_total',
      help: 'Approval mails by outcome, since the database was created.',
      type: 'counter',
      samples: samplesBy('outcome', ended),
    },
    gauge(
      'mails',
      'Mails without a secret (requests, decisions, reminders) by outcome; waiting ones are undelivered.',
      samplesBy('result', mails),
    ),
  ];
}

/** Metrics of the last import of a kind that changed something; no samples if there was none. */
function importFamilies(db: Db, kind: ImportKind, named: string, nowMs: number): Family[] {
  const last = readLastImport(db.$client, kind);
  const of = (name: string, help: string, samples: Sample[]) =>
    gauge(`last_${kind}_${name}`, `${help} Absent if none has ever changed anything.`, last === null ? [] : samples);
  const { at = '', by = '', lines = 0, refused = 0 } = last ?? {};
  return [
    of('age_seconds', `Seconds since the last ${named} ended.`, [[{}, ageSeconds(Date.parse(at), nowMs)]]),
    of('lines', `Lines of the last ${named}.`, [[{}, lines]]),
    of('refused_lines', `Lines of the last ${named} that were refused.`, [[{}, refused]]),
    of('info', `Who ran the last ${named}, as a label.`, [[{ by }, 1]]),
  ];
}

function backupFamily(db: Db, nowMs: number): Family {
  const atMs = Date.parse(readLastBackup(db.$client)?.at ?? '');
  return gauge(
    'last_backup_age_seconds',
    'Seconds since db backup --scheduled last made a backup; absent if it never has.',
    Number.isNaN(atMs) ? [] : ageSeconds(atMs, nowMs),
  );
}

/** The size of a database's files, and the space on their disk if the file system reports it. */
function diskFamilies(path: string): Family[] {
  const room = readDiskRoom(path);
  return [
    gauge(
      'database_size_bytes',
      'The database file and its write-ahead log.',
      samplesBy('file', { ...databaseSize(path) }),
    ),
    gauge('disk_free_bytes', "Free space on the database's disk, for the server's user.", room?.freeBytes ?? []),
    gauge('disk_size_bytes', "The size of the database's disk.", room?.totalBytes ?? []),
  ];
}

function processFamilies(startedAtMs: number): Family[] {
  const { user, system } = process.cpuUsage();
  return [
    gauge('info', 'The version, as a label.', [[{ version: VERSION }, 1]]),
    {
      name: 'process_start_time_seconds',
      help: 'When the server started, in seconds since 1970.',
      type: 'gauge',
      samples: [[{}, startedAtMs / 1000]],
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of the process.',
      type: 'gauge',
      samples: [[{}, process.memoryUsage.rss()]],
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time, user and system.',
      type: 'counter',
      samples: [[{}, (user + system) / 1e6]],
    },
  ];
}

function gauge(name: string, help: string, samples: Sample[] | number): Family {
  const all: Sample[] = typeof samples === 'number' ? [[{}, samples]] : samples;
  return { name: `profile_lookup_${name}`, help, type: 'gauge', samples: all };
}

/** One sample for each entry of `counts`, whose name is the value of the label, with `_` for spaces. */
function samplesBy(label: string, counts: Record<string, number>): Sample[] {
  return Object.entries(counts).map(([name, count]) => [{ [label]: name.replaceAll(' ', '_') }, count]);
}

function ageSeconds(sinceMs: number, nowMs: number): number {
  return Math.max(0, nowMs - sinceMs) / 1000;
}

/** A value with its labels and the suffix of its family's name (`_bucket`, `_sum`, `_count`). */
type Sample = [labels: Record<string, string | number>, value: number, suffix?: string];

/** One metric with all its samples. */
type Family = { name: string; help: string; type: 'counter' | 'gauge' | 'histogram'; samples: Sample[] };

/** Prints metrics in Prometheus' text format, version 0.0.4. A help text must be one line without a backslash. */
export function printFamilies(families: readonly Family[]): string {
  return families.map(printFamily).join('\n');
}

function printFamily({ name, help, type, samples }: Family): string {
  const lines = samples.map(([labels, value, suffix = '']) => `${name}${suffix}${labelsText(labels)} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelsText(labels: Sample[0]): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
