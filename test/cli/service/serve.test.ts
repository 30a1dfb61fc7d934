import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { profilectl } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { startServerProcess } from '../../support/machine.ts';
import { tempFolder } from '../../support/world.ts';
import { KEY, openTerminal, runCommand } from '../commands.ts';

// `profilectl serve` as a process: signals, and when it refuses to start.

test('SIGHUP changes nothing', async () => {
  const server = await startServerProcess({ DATABASE_PATH: join(tempFolder(), 'p.db') });
  process.kill(server.pid, 'SIGHUP');
  expect((await get(server, '/readyz')).status).toBe(200);
  expect(await server.end()).toBe(0);
});

test('serve refuses to start with plain HTTP on an address that other machines can reach, and names the alternatives', async () => {
  const open = { HOST: '0.0.0.0', PUBLIC_URL: 'https://api.example.org', PORT: '0' };
  const variables = { DATABASE_PATH: join(tempFolder(), 'p.db'), ...open };
  const refused = await profilectl(['serve'], { variables });
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr.trim().split('\n')).toHaveLength(1);
  expect(refused.stderr).toContain('TRUSTED_PROXIES');
});

test('with PORT=0 the OpenAPI document has the port that the system assigned', async () => {
  const server = await startServerProcess({ PORT: '0', DATABASE_PATH: join(tempFolder(), 'p.db') });
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as { servers: { url: string }[] };
  expect(document.servers.map(({ url }) => url)).toEqual([`${server.url}/api`]);
  expect(server.port).toBeGreaterThan(0);
  expect(await server.end()).toBe(0);
});

describe('DATABASE_MUST_EXIST=on', () => {
  const serve = (DATABASE_PATH: string) =>
    profilectl(['serve'], { variables: { DATABASE_PATH, PORT: '0', DATABASE_MUST_EXIST: 'on' } });

  test('serve refuses a folder without a database, such as an unmounted volume, and creates nothing', async () => {
    const folder = tempFolder();
    for (const path of [join(folder, 'profiles.db'), join(folder, 'none/profiles.db')]) {
      const refused = await serve(path);
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain(
        `There is no database at ${path}. No database is created, because DATABASE_MUST_EXIST is on`,
      );
    }
    expect(readdirSync(folder)).toEqual([]);
  });

  test('serve refuses an empty file', async () => {
    const path = join(tempFolder(), 'profiles.db');
    writeFileSync(path, '', { mode: 0o600 });
    expect(await serve(path)).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no database at') });
  });

  test('serve accepts an existing database, which profiles import may create', async () => {
    const variables = { DATABASE_PATH: join(tempFolder(), 'p.db'), DATABASE_MUST_EXIST: 'on' };
    const stdin = '{"id":1,"username":"Ada"}\n';
    expect(await runCommand(['profiles', 'import', '-'], { variables, stdin })).toMatchObject({ code: 0 });
    expect(existsSync(variables.DATABASE_PATH)).toBe(true);
    expect(await (await startServerProcess(variables)).end()).toBe(0);
  });
});

test('on a terminal serve prints its URL, documentation, database and warnings', async () => {
  const path = join(tempFolder(), 'p.db');
  const terminal = openTerminal(['serve'], { PORT: '0', DATABASE_PATH: path });
  await terminal.see('Ctrl-C stops it.');
  const [, url = ''] = /Profile Lookup is running on (http:\S+)/.exec(terminal.screen()) ?? [];
  expect(terminal.screen()).toContain(`Documentation  ${url}/docs`);
  expect(terminal.screen()).toContain(`Database       ${path}`);
  expect(terminal.screen()).toContain('Warning: MAIL_URL is not set: no key can be approved.');
  expect((await get({ url }, '/api/key')).status).toBe(401);
  terminal.type(KEY.ctrlC);
  expect(await terminal.exited).toBe(0);
});
