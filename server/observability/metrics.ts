import type { Clock } from '../../shared/clock.ts';
import type { Opened } from '../../shared/db/connect.ts';
import type { ErrorCode } from '../../shared/errors.ts';
import { readLastBackup } from '../../shared/files/copy.ts';
import { createProfileCounter } from '../../shared/profiles/list.ts';
import { readKeyStats } from '../../shared/usage/key-stats.ts';
import { VERSION } from '../../shared/version.ts';
import { BUCKETS, type Counts, countAnswer, createCounts, METRICS_TYPE } from './counts.ts';
import { diskFamilies } from './disk-metrics.ts';
import { importFamilies } from './import-metrics.ts';
import { type Family, printFamilies, type Sample } from './prometheus.ts';

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
export function createMetrics({ db, clock }: { db: Opened; clock: Clock }): Metrics {
  const counts = createCounts();
  const startedAtMs = clock.nowMs();
  const countProfiles = createProfileCounter({ db, clock });
  return {
    count: (route, status, code, milliseconds) => countAnswer(counts, route, status, code, milliseconds),
    read: async () =>
      printFamilies([
        ...requestFamilies(counts),
        profileFamily(await countProfiles()),
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

function profileFamily(profiles: number): Family {
  return {
    name: 'profile_lookup_profiles',
    help: 'Profiles, banned ones included; counted at most once a minute.',
    type: 'gauge',
    samples: [[{}, profiles]],
  };
}

/** Metrics of keys, approvals and mails, read from the database because commands change them too. */
function keyFamilies(db: Opened, nowMs: number): Family[] {
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

function backupFamily(db: Opened, nowMs: number): Family {
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
