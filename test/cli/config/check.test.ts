import { describe, expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTransport } from '../../../server/http/transport.ts';
import { readConfig, VARIABLES } from '../../../shared/config/config.ts';
import { exposureFault } from '../../../shared/config/values.ts';
import { PROJECT } from '../../support/cli.ts';
import { tempFolder } from '../../support/world.ts';
import { runCommand } from '../commands.ts';

const CERTIFICATES = join(PROJECT, 'test/support/certificates');

type Report = {
  ok: boolean;
  variables: { name: string; value: string | null; from: string }[];
  faults: string[];
  warnings: string[];
};

async function check(variables: Record<string, string>, ...words: string[]) {
  const run = await runCommand(['config', 'check', '--json', ...words], { variables });
  const report = JSON.parse(run.stdout) as Report;
  const at = (name: string) => report.variables.find((variable) => variable.name === name);
  return { ...run, ...report, at };
}

describe('config check', () => {
  test('lists every variable with its value and origin, and finds no problems if nothing is set', async () => {
    const { code, ok, variables, faults, at } = await check({});
    expect({ code, ok, faults }).toEqual({ code: 0, ok: true, faults: [] });
    expect(variables.map(({ name }) => name)).toEqual(Object.keys(VARIABLES));
    expect(at('PORT')).toEqual({ name: 'PORT', value: '3000', from: 'default' });
    expect(at('PUBLIC_URL')).toEqual({ name: 'PUBLIC_URL', value: 'http://127.0.0.1:3000', from: 'HOST and PORT' });
    expect(at('MAIL_URL')).toEqual({ name: 'MAIL_URL', value: null, from: 'not set' });
  });

  test('reports all problems at once (exit code 2)', async () => {
    const run = await check({
      PORT: 'x',
      HOST: '0.0.0.0',
      MAIL_URL: 'smtp://mail.example.org',
      LOG_LEVEL: 'loud',
      METRICS_TOKEN_FILE: '/none',
    });
    expect({ code: run.code, ok: run.ok }).toEqual({ code: 2, ok: false });
    const named = ['PORT', 'PUBLIC_URL', 'MAIL_FROM', 'LOG_LEVEL', 'METRICS_TOKEN_FILE', 'HOST'];
    expect(run.faults.map((fault) => fault.split(' ')[0])).toEqual(named);
    expect(JSON.parse(run.stderr)).toEqual({ error: '6 problems found.' });
  });

  test('reports what only the server would refuse, in the same words', async () => {
    const variables = { HOST: '0.0.0.0', PUBLIC_URL: 'http://lookup.example.org' };
    const { code, faults } = await check(variables);
    expect(code).toBe(2);
    const config = readConfig(variables);
    expect(faults).toEqual([exposureFault(config) as string]);
    expect(() => readTransport(config)).toThrow(faults[0] as string);
    expect((await check({ ...variables, TRUSTED_PROXIES: '10.0.0.0/8' })).code).toBe(0);
  });

  test('never shows a secret, valid or not', async () => {
    const mail = (url: string) => check({ MAIL_URL: url, MAIL_FROM: 'a@example.org', METRICS_TOKEN: 'hunter2' });
    const good = await mail('smtps://bob%40x:hunter2@mail.example.org');
    expect(good.at('MAIL_URL')?.value).toBe('smtps://bob%40x:***@mail.example.org:465');
    expect(good.at('METRICS_TOKEN')?.value).toBe('(hidden)');
    for (const { stdout, stderr } of [good, await mail('smtp://bob:hunter2@x/path'), await mail('hunter2')]) {
      expect(stdout + stderr).not.toContain('hunter2');
    }
  });

  test('only warns about files that other users can read', async () => {
    const folder = tempFolder();
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), 0o644);
      return join(folder, name);
    };
    const envFile = file(
      'env',
      `MAIL_URL_FILE=${file('url', 'file:mails')}\nMETRICS_TOKEN_FILE=${file('token', 'x')}\n`,
    );
    const { code, warnings } = await check({ DATABASE_PATH: join(folder, 'p.db') }, '--env-file', envFile);
    expect(code).toBe(0);
    for (const name of ['env', 'url', 'token']) {
      expect(warnings).toContain(
        `${join(folder, name)} is open to all users of this machine (mode 644); run "chmod o-rwx ${join(folder, name)}".`,
      );
    }
    expect(warnings.at(-1)).toContain('written to the folder mails');
  });

  test('reads the certificate and its key', async () => {
    const pair = (cert: string, key: string) =>
      check({ TLS_CERT_FILE: join(CERTIFICATES, cert), TLS_KEY_FILE: join(CERTIFICATES, key) });
    expect((await pair('localhost.pem', 'localhost.key')).faults).toEqual([]);
    for (const [cert, key] of [
      ['localhost.pem', 'elsewhere.key'],
      ['ca.pem', 'localhost.pem'],
      ['localhost.key', 'localhost.key'],
    ]) {
      expect((await pair(cert as string, key as string)).faults).toEqual([
        expect.stringContaining('TLS_CERT_FILE and'),
      ]);
    }
  });

  test('without --json prints a table, and the problems below it', async () => {
    const run = await runCommand(['config', 'check'], { variables: { PORT: 'x\u001b[2J' } });
    expect(run.stdout).toMatch(/^Variable +Value +From\nDATABASE_PATH +data\/profiles\.db +default\n/);
    expect(run.stdout).toContain('\nProblem: PORT must be a whole number');
    expect(run.stdout).not.toContain('\u001b');
    expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 2, stderr: '1 problem found.\n' });
  });
});
