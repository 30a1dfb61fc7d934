import { describe, expect, test } from 'bun:test';
import { listAdmins } from '../../../shared/admins.ts';
import { enrol, registerAt, signIn } from '../../support/people.ts';
import { testDeps } from '../../support/world.ts';
import { KEY, openTerminal, runCommand } from '../commands.ts';

const PUBLIC_URL = 'https://api.example.org';

function world() {
  const access = testDeps({ variables: { PUBLIC_URL } });
  const variables = { DATABASE_PATH: access.config.databasePath, PUBLIC_URL };
  return { access, variables, run: (...words: string[]) => runCommand(words, { variables }) };
}

describe('profilectl admins', () => {
  test('add prints only the link to stdout; the passkey registered with it works', async () => {
    const { access, run } = world();
    const added = await run('admins', 'add', 'Grace');
    expect(added.code).toBe(0);
    expect(added.stdout).toMatch(/^https:\/\/\S+\/developers\/enrol#[\w-]{43}\n$/);
    expect((await run('admins', 'list')).stdout).toMatch(/^Name .*\nGrace +invited until 20/);
    const authenticator = await registerAt(access, added.stdout.trim(), 'Laptop');
    expect((await signIn(access, authenticator)).session.name).toBe('Grace');
  });

  test('list and remove print JSON with --json', async () => {
    const { access, run } = world();
    await enrol(access, 'Grace');
    const { admins } = JSON.parse((await run('admins', 'list', '--json')).stdout);
    expect(admins).toEqual(JSON.parse(JSON.stringify(listAdmins(access))));
    expect(admins[0].passkeys[0]).toMatchObject({ name: 'Laptop', registeredFrom: '192.0.2.7' });
    expect(await run('admins', 'remove', 'Grace')).toMatchObject({ code: 2 });
    const removed = await run('admins', 'remove', 'GRACE', '--yes', '--json');
    expect(JSON.parse(removed.stdout)).toEqual({ name: 'Grace', removed: true, endedPasskeys: 1 });
    expect((await run('admins', 'list')).stdout).toBe('No admins.\n');
  });
});

test('admins remove never removes another admin who got the name before the question was answered', async () => {
  const { access, variables, run } = world();
  await enrol(access, 'Grace');
  const terminal = openTerminal(['admins', 'remove', 'Grace'], variables);
  await terminal.see('Remove admin Grace with 1 passkey and all sessions?');
  await run('admins', 'remove', 'Grace', '--yes');
  const other = await enrol(access, 'Grace');
  terminal.type(`y${KEY.enter}`);
  await terminal.see('There is no admin Grace.');
  expect(await terminal.exited).toBe(1);
  expect((await signIn(access, other)).session.name).toBe('Grace');
});
