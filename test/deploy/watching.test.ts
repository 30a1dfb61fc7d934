import { beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createProgram } from '../../cli/program.ts';
import { DOCUMENTED_CODES } from '../../shared/errors.ts';
import { PROJECT } from '../support/cli.ts';
import { get, startTestServer } from '../support/http.ts';
import { tempFolder } from '../support/world.ts';

// deploy/alerts.yml and deploy/grafana.json use only metrics that /metrics has, and promtool, a program of Prometheus,
// runs the alerts on series of healthy and of broken servers.

type Rule = { alert: string; expr: string; annotations: { summary: string; description: string } };

const RULES_PATH = join(PROJECT, 'deploy/alerts.yml');
const { groups } = Bun.YAML.parse(readFileSync(RULES_PATH, 'utf8')) as { groups: { rules: Rule[] }[] };
const RULES = groups.flatMap(({ rules }) => rules);

type Panel = {
  title: string;
  type: string;
  gridPos: Record<'x' | 'y' | 'w' | 'h', number>;
  targets?: { expr: string }[];
};

const BOARD = JSON.parse(readFileSync(join(PROJECT, 'deploy/grafana.json'), 'utf8')) as {
  panels: Panel[];
  templating: { list: { name: string; query: string | { query: string } }[] };
};

/** The dashboard's expressions as Grafana sends them to Prometheus, and those of the alerts. */
const BOARD_EXPRESSIONS = BOARD.panels
  .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  .map((expr) =>
    expr.replaceAll('$__rate_interval', '5m').replace('$job', 'profile-lookup').replace('$instance', '.*'),
  );
const EXPRESSIONS = [...BOARD_EXPRESSIONS, ...RULES.map(({ expr }) => expr)];

let metrics = '';

beforeAll(async () => {
  const server = await startTestServer({ variables: { METRICS_TOKEN: 'scraper.7Rk2mQ9bTzA~' } });
  // So that a response and a refusal are counted.
  await get(server, '/api/key', 'guess');
  metrics = await (await get(server, '/metrics', 'scraper.7Rk2mQ9bTzA~')).text();
});

/** The names that a query can use: those of the metric families, and the three series of each histogram. */
function seriesNames(): string[] {
  const families = [...metrics.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return families.flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
  );
}

test('each metric in the alerts and on the dashboard is in /metrics, and each metric there is on the dashboard', () => {
  const namedIn = (text: string) => text.match(/\b(profile_lookup|process)_[a-z_]+/g) ?? [];
  const queries = BOARD.templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query));
  const names = seriesNames();
  expect(names.length).toBeGreaterThan(20);
  const unknown = [...EXPRESSIONS, ...queries].flatMap(namedIn).filter((name) => !names.includes(name));
  expect(unknown).toEqual([]);
  const shown = BOARD_EXPRESSIONS.flatMap(namedIn);
  const left = names.filter((name) => !shown.includes(name) && !/_(sum|count|info)$/.test(name));
  expect(left).toEqual([]);
});

test('each label in an expression belongs to that metric, with a value that it can have', () => {
  const selectors = EXPRESSIONS.flatMap((text) => [...text.matchAll(/\b([a-z_]+)\{([^}]*)\}/g)]);
  expect(selectors.length).toBeGreaterThan(40);
  for (const [, name = '', labels = ''] of selectors) {
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)=~?"([^"]*)"/g)) {
      // Prometheus itself adds these two.
      if (['job', 'instance'].includes(label)) continue;
      const line = new RegExp(`^${name}\\{.*\\b${label}="([^"]*)"`, 'gm');
      const values = [...metrics.matchAll(line)].map(([, found]) => found as string);
      expect([name, label, values.length > 0]).toEqual([name, label, true]);
      if (label === 'code') values.push(...DOCUMENTED_CODES);
      // Routes and statuses are selected with patterns.
      const isPattern = ['route', 'status'].includes(label);
      for (const one of isPattern ? [] : value.split('|')) expect(values).toContain(one);
    }
  }
});

test('the panels of the dashboard do not overlap', () => {
  const cells = BOARD.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(Math.max(...BOARD.panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
});

const isAbsent = Bun.which('promtool') === null;

/** Runs promtool; returns its output if it finds a problem. */
async function promtool(...words: string[]): Promise<string> {
  const child = Bun.spawn(['promtool', ...words], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return (await child.exited) === 0 ? '' : stdout + stderr;
}

test.skipIf(isAbsent)('Prometheus accepts the alerts, and the expressions of the dashboard', async () => {
  expect(await promtool('check', 'rules', RULES_PATH)).toBe('');
  const file = join(tempFolder(), 'board.yml');
  const rules = BOARD_EXPRESSIONS.map((expr, at) => ({ record: `board:panel_${at}`, expr }));
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'board', rules }] }));
  expect(await promtool('check', 'rules', file)).toBe('');
});

/** Two hours of a healthy server with a value each minute, in Prometheus' notation. */
const HEALTHY: Record<string, string> = {
  up: '1x120',
  process_start_time_seconds: '1000x120',
  profile_lookup_worker_restarts_total: '0x120',
  'profile_lookup_http_requests_total{status="200"}': '0+600x120',
  'profile_lookup_http_requests_total{status="503"}': '0x120',
  'profile_lookup_http_request_duration_seconds_bucket{route="/api/lookup/uid/:uid",le="0.001"}': '0+600x120',
  'profile_lookup_http_request_duration_seconds_bucket{route="/api/lookup/uid/:uid",le="0.5"}': '0+600x120',
  'profile_lookup_http_request_duration_seconds_bucket{route="/api/lookup/uid/:uid",le="+Inf"}': '0+600x120',
  'profile_lookup_refusals_total{code="too_many_failures"}': '0+5x120',
  'profile_lookup_approval_mails_total{outcome="accepted"}': '0+1x120',
  'profile_lookup_approval_mails_total{outcome="refused"}': '4x120',
  'profile_lookup_notices{result="waiting"}': '0+1x120',
  'profile_lookup_notices{result="dropped"}': '4x120',
  profile_lookup_oldest_pending_request_age_seconds: '3600+60x120',
  profile_lookup_last_import_age_seconds: '3600+60x120',
  profile_lookup_last_import_refused_lines: '0x120',
  profile_lookup_last_backup_age_seconds: '3600+60x120',
  profile_lookup_last_restore_test_age_seconds: '2000000+60x120',
  'profile_lookup_database_size_bytes{file="main"}': '4000000000x120',
  'profile_lookup_database_size_bytes{file="wal"}': '4000000x120',
  profile_lookup_disk_free_bytes: '20000000000x120',
  profile_lookup_disk_size_bytes: '100000000000x120',
};

/** For each alert the series that must raise it, as differences from the healthy ones; null removes one. */
const FAULTS: [alert: string, series: Record<string, string | null>][] = [
  ['ProfileLookupDown', { up: '1x110 0x10' }],
  ['ProfileLookupRestarting', { process_start_time_seconds: '1000x110 2000 3000 4000x8' }],
  ['ProfileLookupThreadDied', { profile_lookup_worker_restarts_total: '0x115 1x5' }],
  ['ProfileLookupErrors', { 'profile_lookup_http_requests_total{status="503"}': '0x100 0+10x20' }],
  [
    'ProfileLookupSlow',
    { 'profile_lookup_http_request_duration_seconds_bucket{route="/api/lookup/uid/:uid",le="0.001"}': '0+580x120' },
  ],
  ['ProfileLookupKeysGuessed', { 'profile_lookup_refusals_total{code="too_many_failures"}': '0+300x120' }],
  ['ProfileLookupApprovalMailFailed', { 'profile_lookup_approval_mails_total{outcome="refused"}': '4x110 5x10' }],
  ['ProfileLookupMailGivenUp', { 'profile_lookup_notices{result="dropped"}': '4x60 5x60' }],
  ['ProfileLookupRequestWaiting', { profile_lookup_oldest_pending_request_age_seconds: '604000+60x120' }],
  ['ProfileLookupProfilesOld', { profile_lookup_last_import_age_seconds: '172000+60x120' }],
  [
    'ProfileLookupProfilesOld',
    { profile_lookup_last_import_age_seconds: null, profile_lookup_last_feed_age_seconds: '172000+60x120' },
  ],
  ['ProfileLookupLinesRefused', { profile_lookup_last_import_refused_lines: '3x120' }],
  ['ProfileLookupLinesRefused', { profile_lookup_last_feed_refused_lines: '3x120' }],
  ['ProfileLookupBackupOld', { profile_lookup_last_backup_age_seconds: '172000+60x120' }],
  ['ProfileLookupBackupOld', { profile_lookup_last_backup_age_seconds: null }],
  ['ProfileLookupRestoreTestOld', { profile_lookup_last_restore_test_age_seconds: '3023000+60x120' }],
  ['ProfileLookupRestoreTestOld', { profile_lookup_last_restore_test_age_seconds: null }],
  [
    'ProfileLookupDiskLow',
    {
      profile_lookup_disk_free_bytes: '9900000000x120',
      'profile_lookup_database_size_bytes{file="main"}': '1000000x120',
    },
  ],
  ['ProfileLookupDiskLow', { profile_lookup_disk_free_bytes: '12000000000x120' }],
  ['ProfileLookupLogBig', { 'profile_lookup_database_size_bytes{file="wal"}': '1000000001x120' }],
];

/** Series that raise no alert: a platform that sends its profiles itself no longer needs to import. */
const NO_FAULTS: Record<string, string>[] = [
  {},
  { profile_lookup_last_import_age_seconds: '9000000+60x120', profile_lookup_last_feed_age_seconds: '60x120' },
];

test.skipIf(isAbsent)('each alert is raised by its own problem only, and none by a healthy server', async () => {
  expect(new Set(FAULTS.map(([alert]) => alert))).toEqual(new Set(RULES.map(({ alert }) => alert)));
  const cases = [...FAULTS, ...NO_FAULTS.map((series) => [null, series] as const)];
  // Each case is another server that Prometheus watches.
  const watched = {
    interval: '1m',
    input_series: cases.flatMap(([, series], at) =>
      Object.entries({ ...HEALTHY, ...series }).flatMap(([name, values]) =>
        values === null ? [] : [{ series: withServer(name, at), values }],
      ),
    ),
    promql_expr_test: [
      ...cases.map(([alert], at) => [alert, instanceOf(at)] as const),
      // None is about no server in particular.
      [null, ''] as const,
    ].map(([alert, instance]) => ({
      expr: `count by (alertname) (ALERTS{alertstate="firing", instance="${instance}"})`,
      eval_time: '2h',
      exp_samples: alert === null ? [] : [{ labels: `{alertname="${alert}"}`, value: 1 }],
    })),
  };
  const file = join(tempFolder(), 'tests.yml');
  writeFileSync(file, JSON.stringify({ rule_files: [RULES_PATH], evaluation_interval: '5m', tests: [watched] }));
  expect(await promtool('test', 'rules', file)).toBe('');
});

/** The address of the server of a case. */
const instanceOf = (at: number) => `box${at}:3000`;

/** The name of a series of a case with the labels that Prometheus adds. */
function withServer(name: string, at: number): string {
  const [metric = '', labels = ''] = name.replace('}', '').split('{');
  return `${metric}{${[labels, 'job="profile-lookup"', `instance="${instanceOf(at)}"`].filter(Boolean).join(',')}}`;
}

test('the descriptions of alerts mention only commands and options that exist', async () => {
  const program = await createProgram();
  const lines = RULES.flatMap(({ annotations }) => [...annotations.description.matchAll(/"profilectl ([^"]+)"/g)]);
  expect(lines.length).toBeGreaterThan(5);
  for (const [line, words = ''] of lines) {
    let command = program;
    for (const word of words.split(' ')) {
      const next = command.commands.find((child) => child.name() === word);
      const hasOption = [...program.options, ...command.options].some(({ long }) => long === word);
      // Any other word is an argument, which only commands without subcommands have.
      if (next === undefined) expect([line, hasOption || command.commands.length === 0]).toEqual([line, true]);
      else command = next;
    }
  }
});
