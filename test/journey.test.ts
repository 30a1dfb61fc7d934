import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY, openTerminal } from './cli/commands.ts';
import { profilectl } from './support/cli.ts';
import { get as ask } from './support/http.ts';
import { startServerProcess } from './support/machine.ts';
import { startSmtp } from './support/mail.ts';
import { tempFolder } from './support/world.ts';

// The whole life of a key, with processes of the real command line, a real server on a socket and a real mail server.

const PROFILES = [
  { id: 7, username: 'Ada', viewsCount: 12, email: 'ada@example.org' },
  { id: 8, username: 'Grace', viewsCount: 30, email: 'grace@example.org' },
];

test('import → request → approve → lookups → 403 → 429 → rename → revoke → 401', async () => {
  const folder = tempFolder();
  const smtp = await startSmtp({ login: { user: 'lookup', password: 'only-a-test' } });
  const variables = {
    DATABASE_PATH: join(folder, 'data', 'profiles.db'),
    MAIL_URL: smtp.url,
    MAIL_FROM: 'keys@example.net',
    ADMIN_EMAIL: 'admin@example.net',
  };
  const run = async (...words: string[]) => {
    const { code, stdout, stderr } = await profilectl([...words, '--json'], { variables });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  // Profiles are imported.
  const file = join(folder, 'profiles.jsonl');
  writeFileSync(file, PROFILES.map((profile) => JSON.stringify(profile)).join('\n'));
  expect(await run('profiles', 'import', file)).toEqual({
    imported: 2,
    deleted: 0,
    pruned: 0,
    newer: 0,
    refused: [],
    dropped: [],
  });

  // The owner requests a key at a terminal.
  const terminal = openTerminal(['keys', 'request'], variables);
  await terminal.answer('Profile', `ada${KEY.enter}`);
  await terminal.answer('Name of the key', `Badge bot${KEY.enter}`);
  await terminal.answer(
    'Description',
    `Shows the badges of our members beside their names, a few lookups every minute or so.${KEY.enter}`,
  );
  await terminal.answer('Permissions', KEY.enter);
  await terminal.answer('Project URL', KEY.enter);
  await terminal.answer('Expected usage', KEY.enter);
  await terminal.answer('Send this request?', KEY.enter);
  await terminal.see(/[0-9A-Za-z]{8} pending/);
  expect(await terminal.exited).toBe(0);
  const identifier = (await run('keys', 'list', '--state', 'pending')).keys[0].identifier as string;
  expect(smtp.received.map((mail) => mail.to)).toEqual([['admin@example.net']]);

  // The admin decides; the secret is in the mail and nowhere else.
  const approved = await run('keys', 'approve', identifier, '--rate-limit', '3/1h');
  expect(approved).toMatchObject({
    state: 'Active',
    permissions: ['api.lookup'],
    attempt: { number: 1, result: 'accepted' },
  });
  const mail = smtp.received.at(-1);
  expect(mail).toMatchObject({
    from: 'keys@example.net',
    to: ['ada@example.org'],
    session: { secure: true, user: 'lookup' },
  });
  const secrets = new Set(mail?.raw.match(/plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g));
  expect(secrets.size).toBe(1);
  const [secret = ''] = secrets;
  expect(JSON.stringify(approved)).not.toContain(secret.slice(13));

  // The client looks profiles up.
  const server = await startServerProcess(variables);
  const get = async (path: string) => {
    const response = await ask(server, path, secret);
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  };
  const ada = await get('/api/lookup/username/ADA');
  expect(ada).toMatchObject({ status: 200, body: { id: 7, username: 'Ada', viewsCount: 12 } });
  expect(JSON.stringify(ada.body)).not.toContain('example.org');
  expect((await get('/api/leaderboard')).status).toBe(403);
  const key = { identifier, name: 'Badge bot', permissions: ['api.lookup'], expiresAt: null };
  expect(await get('/api/key')).toMatchObject({
    status: 200,
    body: { ...key, rateLimits: [{ quota: 3, remaining: 1 }] },
  });
  expect((await get('/api/lookup/uid/8')).status).toBe(200);
  const limited = await get('/api/lookup/uid/8');
  expect(limited.status).toBe(429);
  expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3500);

  // The key is renamed, then revoked, while the server runs.
  expect(await run('keys', 'edit', identifier, '--name', 'Badge bot 2')).toMatchObject({ name: 'Badge bot 2' });
  expect((await get('/api/key')).body.name).toBe('Badge bot 2');
  expect(await run('keys', 'revoke', identifier, '--reason', 'The secret leaked.')).toMatchObject({ state: 'revoked' });
  expect(await get('/api/key')).toMatchObject({ status: 401, body: { error: expect.any(String) } });
  expect(smtp.received.at(-1)?.raw).toContain('The secret leaked.');
  const { history } = await run('keys', 'show', identifier);
  expect(history.map((entry: { event: string }) => entry.event)).toEqual([
    'requested',
    'approval started',
    'approved',
    'edited',
    'revoked',
  ]);
  expect(await server.end('SIGINT')).toBe(0);
  for (const text of [server.printed(), terminal.screen()]) {
    expect(text).not.toContain(secret.slice(13));
    expect(text).not.toContain('ada@example.org');
  }
}, 60_000);
