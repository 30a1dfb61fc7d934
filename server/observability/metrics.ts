import type { Clock } from '../../shared/clock.ts';
import type { Db } from '../../shared/db/connect.ts';
import { guardDatabase } from '../../shared/db/faults.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { readLastBackup } from '../../shared/files/copy.ts';
import { databaseSize, readDiskRoom } from '../../shared/files/disk.ts';
import { type ImportKind, readLastImport } from '../../shared/profiles/import/report.ts';
import { readKeyStats } from '../../shared/usage/stats.ts';
import { VERSION } from '../../shared/version.ts';

/** Counts responses, and prints all metrics for Prometheus. */
export type Metrics = {
  /** Counts one response in 0.25 µs; `route` is null if no route matches. */
  count: (route: string | null, status: number, code: ErrorCode | null, milliseconds: number) => void;
  /** All metrics in Prometheus' text format; some are read from the database on each call. */
  read: () => Promise<string>;
  /** The media type of that text. */
  contentType: string;
};

/** Creates metrics that count from zero. */
export function createMetrics({ db, clock }: { db: Db; clock: Clock }): Metrics {
  const counts = createCounts();
  const startedAtMs = clock.nowMs();
  return {
    count: (route, status, code, milliseconds) => countAnswer(counts, route, status, code, milliseconds),
    read: async () =>
      printFamilies([
        ...requestFamilies(counts),
        ...keyFamilies(db, clock.nowMs()),
        ...importFamilies(db, clock.nowMs()),
        backupFamily(db, clock.nowMs()),
        ...diskFamilies(db.$client.filename),
        ...processFamilies(startedAtMs),
      ]),
    contentType: METRICS_TYPE,
  };
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
    {
      name: 'profile_lookup_keys',
      help: 'API keys by state; pending ones are the queue.',
      type: 'gauge',
      samples: samplesBy('state', states),
    },
    {
      name: 'profile_lookup_oldest_pending_request_age_seconds',
      help: 'How long the oldest pending request has been waiting; 0 if there is none.',
      type: 'gauge',
      samples: [[{}, oldestPendingAt === null ? 0 : Math.max(0, nowMs - oldestPendingAt) / 1000]],
    },
    {
      name: 'profile_lookup_approval_attempts_open',
      help: 'Approvals whose mail is being sent.',
      type: 'gauge',
      samples: [[{}, open]],
    },
    {
      name: 'profile_lookup_approval_mails_total',
      help: 'Approval mails by outcome, since the database was created.',
      type: 'counter',
      samples: samplesBy('outcome', ended),
    },
    {
      name: 'profile_lookup_mails',
      help: 'Mails without a secret (requests, decisions, reminders) by outcome; waiting ones are undelivered.',
      type: 'gauge',
      samples: samplesBy('result', mails),
    },
  ];
}

function backupFamily(db: Db, nowMs: number): Family {
  const atMs = Date.parse(readLastBackup(db.$client)?.at ?? '');
  return {
    name: 'profile_lookup_last_backup_age_seconds',
    help: 'Seconds since db backup --scheduled last made a backup; absent if it never has.',
    type: 'gauge',
    samples: Number.isNaN(atMs) ? [] : [[{}, Math.max(0, nowMs - atMs) / 1000]],
  };
}

function processFamilies(startedAtMs: number): Family[] {
  const { user, system } = process.cpuUsage();
  return [
    {
      name: 'profile_lookup_info',
      help: 'The version, as a label.',
      type: 'gauge',
      samples: [[{ version: VERSION }, 1]],
    },
    {
      name: 'process_start_time_seconds',
      help: 'When the server started, seconds since 1970.',
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

/** One sample for each entry of `counts`, whose name is the value of the label, with `_` for spaces. */
function samplesBy(label: string, counts: Record<string, number>): Sample[] {
  return Object.entries(counts).map(([name, count]) => [{ [label]: name.replaceAll(' ', '_') }, count]);
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

/** The media type of Prometheus' text format. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Creates empty counts. */
function createCounts(): Counts {
  return { routes: new Map(), refusals: new Map() };
}

/** Counts one response; `route` is null if no route matches. */
function countAnswer(
  counts: Counts,
  route: string | null,
  status: number,
  code: ErrorCode | null,
  milliseconds: number,
): void {
  const seconds = milliseconds / 1000;
  const of = routeOf(counts, route ?? 'none');
  increase(of.byStatus, status, 1);
  let bucket = 0;
  while (bucket < BUCKETS.length && seconds > (BUCKETS[bucket] as number)) bucket++;
  of.buckets[bucket] = (of.buckets[bucket] as number) + 1;
  of.seconds += seconds;
  if (code !== null) increase(counts.refusals, code, 1);
}

function routeOf({ routes }: Counts, route: string): RouteCounts {
  let of = routes.get(route);
  if (of === undefined) {
    of = { byStatus: new Map(), buckets: Array<number>(BUCKETS.length + 1).fill(0), seconds: 0 };
    routes.set(route, of);
  }
  return of;
}

function increase<K>(map: Map<K, number>, key: K, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by);
}

/** Metrics of the last import that changed something, and of the last one from a backend; no samples if there was none. */
function importFamilies(db: Db, nowMs: number): Family[] {
  return [
    ...familiesOf(db, 'import', 'import', nowMs),
    ...familiesOf(db, 'feed', "import by a backend's request", nowMs),
  ];
}

function familiesOf(db: Db, kind: ImportKind, named: string, nowMs: number): Family[] {
  const last = guardDatabase(db.$client.filename, () => readLastImport(db.$client, kind));
  const gauge = (name: string, help: string, samples: Sample[]): Family => ({
    name: `profile_lookup_last_${kind}_${name}`,
    help: `${help} Absent if none has ever changed anything.`,
    type: 'gauge',
    samples: last === null ? [] : samples,
  });
  const { at = '', by = '', lines = 0, refused = 0 } = last ?? {};
  return [
    gauge('age_seconds', `Seconds since the last ${named} ended.`, [[{}, Math.max(0, nowMs - Date.parse(at)) / 1000]]),
    gauge('lines', `Lines of the last ${named}.`, [[{}, lines]]),
    gauge('refused_lines', `Lines of the last ${named} that were refused.`, [[{}, refused]]),
    gauge('info', `Who ran the last ${named}, as a label.`, [[{ by }, 1]]),
  ];
}

/** The size of a database's files, and the space on their disk if the file system reports it. */
function diskFamilies(path: string): Family[] {
  const { main, wal } = databaseSize(path);
  const room = readDiskRoom(path);
  return [
    {
      name: 'profile_lookup_database_size_bytes',
      help: 'The database file and its write-ahead log.',
      type: 'gauge',
      samples: [
        [{ file: 'main' }, main],
        [{ file: 'wal' }, wal],
      ],
    },
    {
      name: 'profile_lookup_disk_free_bytes',
      help: "Free space on the database's disk, for the server's user.",
      type: 'gauge',
      samples: room === null ? [] : [[{}, room.freeBytes]],
    },
    {
      name: 'profile_lookup_disk_size_bytes',
      help: "The size of the database's disk.",
      type: 'gauge',
      samples: room === null ? [] : [[{}, room.totalBytes]],
    },
  ];
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
