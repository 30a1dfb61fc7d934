import { describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { VERSION } from '../../shared/version.ts';
import { PROJECT } from '../support/cli.ts';
import { tempFolder } from '../support/world.ts';

// Checks of the container files without an engine: two linters, and what the files promise.

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

const DOCKERFILE = read('Dockerfile');

const COMPOSE_FILES = ['deploy/compose.yaml', 'deploy/compose.nightly.yaml'];

/**
 * The linter's findings in a Compose file, except matters of taste and what is intended: Caddy is open to everybody.
 */
function lintCompose(path: string): string[] {
  const off = [
    'service-keys-order',
    'services-alphabetical-order',
    'top-level-properties-order',
    'require-quotes-in-ports',
    'require-project-name-field',
    'service-image-require-explicit-tag',
    'no-unbound-port-interfaces',
  ];
  const rules = Object.fromEntries(off.map((name) => [name, 0 as const]));
  const linter = new DCLinter({ rules, quiet: true, debug: false, exclude: [] });
  return linter.lintFiles([path], false).flatMap(({ messages }) => messages.map(({ message }) => message));
}

describe('the linters', () => {
  test('accept the Dockerfile, and report a misspelt word in it', () => {
    expect(validate(DOCKERFILE)).toEqual([]);
    expect(validate(DOCKERFILE.replace('HEALTHCHECK', 'HEALTCHECK'))).toHaveLength(1);
    expect(validate(DOCKERFILE.replace('--from=package', '--form=package'))).toHaveLength(1);
  });

  test.each(COMPOSE_FILES)('accept %s with the schema of Compose, and report a misspelt word in it', (path) => {
    expect(lintCompose(join(PROJECT, path))).toEqual([]);
    const file = join(tempFolder(), 'compose.yaml');
    writeFileSync(file, read(path).replace('read_only:', 'readonly:'));
    expect(lintCompose(file)).toHaveLength(1);
  });
});

test('the container image contains the program from a release’s packages, by their names there', () => {
  const [, pattern = ''] = /^COPY (\S+) \/packages\/$/m.exec(DOCKERFILE) ?? [];
  const glob = new Bun.Glob(pattern);
  for (const architecture of ['amd64', 'arm64']) {
    expect(glob.match(`dist/release/profile-lookup_${VERSION}_${architecture}.deb`)).toBe(true);
  }
  // Nothing else of the checkout is sent to the builder.
  const sent = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(sent).toEqual(['*', `!${pattern}`]);
});

test('the container runs as its own user, and its health check asks whether the server is ready', () => {
  const [, user = '', group = ''] = /useradd [^\n]*--uid (\d+) --gid (\d+)/.exec(DOCKERFILE) ?? [];
  expect([user, group]).toEqual(['10001', '10001']);
  const instructions = [...DOCKERFILE.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name, rest]) => [name, rest]);
  const last = instructions.findLastIndex(([name]) => name === 'RUN' || name === 'COPY');
  expect(instructions.findIndex(([name, rest]) => name === 'USER' && rest === 'profile-lookup')).toBeGreaterThan(last);
  expect(DOCKERFILE).toContain('CMD ["profilectl", "healthcheck"]');
});

test.each(COMPOSE_FILES)(
  '%s lets our containers write only to their volumes and /tmp, without capabilities',
  (path) => {
    type Service = {
      image?: string;
      read_only?: boolean;
      tmpfs?: string[];
      cap_drop?: string[];
      security_opt?: string[];
    };
    const { services } = Bun.YAML.parse(read(path)) as { services: Record<string, Service> };
    const ours = Object.entries(services).filter(([name]) => name !== 'caddy');
    expect(ours.length).toBeGreaterThan(0);
    for (const [, service] of ours) {
      expect(service).toMatchObject({
        read_only: true,
        tmpfs: ['/tmp'],
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
  },
);

test('Compose trusts only Caddy and the health check, and a restart of one container keeps the network of the other', () => {
  type Service = {
    environment: Record<string, string>;
    ports?: string[];
    networks: { default: { ipv4_address: string } };
  };
  const { services } = Bun.YAML.parse(read('deploy/compose.yaml')) as { services: Record<string, Service> };
  const { lookup, caddy } = services as { lookup: Service; caddy: Service };
  // A container that shares another one's network (`network_mode`) has none after that one restarts.
  for (const service of [lookup, caddy]) expect(service).not.toHaveProperty('network_mode');
  expect(lookup.environment.TRUSTED_PROXIES).toBe(`127.0.0.1,${caddy.networks.default.ipv4_address}`);
  expect(lookup.ports).toBeUndefined();
  expect(caddy.environment.UPSTREAM).toBe(`${lookup.networks.default.ipv4_address}:3000`);
  expect(read('deploy/Caddyfile')).toContain('reverse_proxy {$UPSTREAM:127.0.0.1:3000} {');
});
