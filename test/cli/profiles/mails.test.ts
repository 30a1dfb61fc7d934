import { afterEach, expect, test } from 'bun:test';
import { runCommand } from '../../support/commands.ts';
import { approveKey, request, withoutLease } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { jsonLines } from '../../support/profiles.ts';
import { onBox, tempFolder, testDeps } from '../../support/world.ts';

// Mails about a profile that is changed on the command line, while no server is running that could send them.

const ADA = { id: 7, username: 'Ada', email: 'ada@example.org' };

const smtp = await startSmtp();
const variables = { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' };

afterEach(() => {
  smtp.received.length = 0;
  for (const name of Object.keys(smtp.failures)) delete smtp.failures[name as keyof typeof smtp.failures];
});

/** A database with Ada, who has an Active key, and a function that runs commands on it. */
async function world() {
  const databasePath = `${tempFolder()}/profiles.db`;
  const run = async (words: string[], stdin = '', env: Record<string, string> = variables) => {
    const { code, stderr } = await runCommand([...words, '--db', databasePath], { stdin, variables: env });
    return { code, stderr };
  };
  expect(await run(['profiles', 'import', '-'], jsonLines(ADA))).toMatchObject({ code: 0 });
  const deps = testDeps({ variables: { ...variables, DATABASE_PATH: databasePath } });
  const identifier = await request(deps, { profile: 'Ada' });
  await approveKey(withoutLease(deps), { identifier, grant: {}, by: onBox('admin') });
  smtp.received.length = 0;
  const results = () =>
    deps.db.$client.query('SELECT kind, result FROM mails WHERE profile_id = 7 ORDER BY id').values();
  return { run, results };
}

const mailed = () => smtp.received.splice(0).map(({ to, raw }) => [to[0], /^Subject: (.*)\r$/m.exec(raw)?.[1]]);

test('an import leaves all mails to the server', async () => {
  const { run, results } = await world();
  const changed = jsonLines({ ...ADA, email: 'ada@example.net', banned: true });
  expect(await run(['profiles', 'import', '-'], changed)).toMatchObject({ code: 0 });
  expect(mailed()).toEqual([]);
  expect(results()).toEqual([['address', 'waiting']]);
});
