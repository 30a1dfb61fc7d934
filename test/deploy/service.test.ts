import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../shared/config/config.ts';
import { VARIABLES } from '../../shared/config/variables.ts';
import { PROJECT } from '../support/cli.ts';

// The systemd unit, checked by systemd itself; and what can be said of the container files without an engine.

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

const UNIT = join(PROJECT, 'deploy/profile-lookup.service');

/** The most exposed that the unit may be, in tenths of 0 to 10; versions of systemd differ by a tenth or two. */
const MOST_EXPOSED = '15';

async function analyze(...words: string[]) {
  const child = Bun.spawn(['systemd-analyze', ...words, UNIT], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

const isAbsent = Bun.which('systemd-analyze') === null;

test.skipIf(isAbsent)('systemd finds no fault in the unit', async () => {
  expect(await analyze('verify', '--man=no')).toEqual({ code: 0, stdout: '', stderr: '' });
});

test.skipIf(isAbsent)('systemd rates its exposure at 1.5 of 10 or less', async () => {
  const rating = await analyze('security', '--offline=true', '--no-pager', `--threshold=${MOST_EXPOSED}`);
  expect(rating).toMatchObject({ code: 0, stdout: expect.stringContaining('Overall exposure level') });
});

/** Variables of the build, and of the scripts beside these files. */
const OTHERS = ['COMMIT', 'UPSTREAM', 'PROFILES_FILE', 'IMPORT_FLAGS', 'BACKUP_FOLDER'];

test('the variables that the files of deploy/ set are ours, and would be accepted', () => {
  const deploy = readdirSync(join(PROJECT, 'deploy'), { withFileTypes: true }).filter((entry) => entry.isFile());
  const files = [...deploy.map(({ name }) => `deploy/${name}`), 'Dockerfile'];
  for (const file of files) {
    const set = [...read(file).matchAll(/(?:^#? +|^ENV |\s)([A-Z][A-Z_]{3,})(?:=|: )([^\s"]+)/gm)];
    const variables = Object.fromEntries(set.map(([, name, value]) => [name, value]));
    for (const name of OTHERS) delete variables[name];
    expect([file, Object.keys(variables).filter((name) => !(name in VARIABLES))]).toEqual([file, []]);
    // The secret's file is the operator's to write.
    expect(() => readConfig({ ...variables, MAIL_URL_FILE: '', PUBLIC_URL: 'https://a.example' })).not.toThrow();
  }
});

test('the container is built of what is there, by the Bun that the tests run on', () => {
  const dockerfile = read('Dockerfile');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
  expect(copied.length).toBeGreaterThan(5);
  for (const path of copied) expect([path, existsSync(join(PROJECT, path))]).toEqual([path, true]);
  expect(dockerfile).toContain(`FROM oven/bun:${Bun.version}-debian AS build`);
});

test('with Compose only Caddy and the health check are trusted, and a restart of one container leaves the other its network', () => {
  type Service = {
    environment: Record<string, string>;
    ports?: string[];
    networks: { default: { ipv4_address: string } };
  };
  const { services } = Bun.YAML.parse(read('deploy/compose.yaml')) as { services: Record<string, Service> };
  const { lookup, caddy } = services as { lookup: Service; caddy: Service };
  // A container that shares the network of another (`network_mode`) has none once that one was restarted.
  for (const service of [lookup, caddy]) expect(service).not.toHaveProperty('network_mode');
  expect(lookup.environment.TRUSTED_PROXIES).toBe(`127.0.0.1,${caddy.networks.default.ipv4_address}`);
  expect(lookup.ports).toBeUndefined();
  expect(caddy.environment.UPSTREAM).toBe(`${lookup.networks.default.ipv4_address}:3000`);
  expect(read('deploy/Caddyfile')).toContain('reverse_proxy {$UPSTREAM:127.0.0.1:3000} {');
});
