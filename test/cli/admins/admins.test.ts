import { describe, expect, test } from 'bun:test';
import { inviteAdmin, listAdmins } from '../../../shared/admins/admins.ts';
import { onBox } from '../../support/actors.ts';
import { runCommand } from '../../support/machine/command.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { testAccess } from '../../support/portal/access.ts';
import { enrol, registerAt, signIn } from '../../support/portal/admins.ts';

const PUBLIC_URL = 'https://api.example.org';

function world() {
  const access = testAccess({ variables: { PUBLIC_URL } });
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
    expect((await signIn(access, authenticator)).signed.name).toBe('Grace');
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

describe('if an admin changes before a question is answered', () => {
  test('admins remove asks again if a passkey was added', async () => {
    const { access, variables } = world();
    const authenticator = await enrol(access, 'Grace');
    const terminal = openTerminal(['admins', 'remove', 'Grace'], variables);
    await terminal.see('Remove admin Grace with 1 passkey and all sessions?');
    const { address } = inviteAdmin(access, 'Grace', { keepPasskeys: true }, onBox('root'));
    await registerAt(access, address, 'Phone');
    terminal.type(`y${KEY.enter}`);
    await terminal.see('Admin Grace has changed since it was shown: an invitation or a passkey was added or ended.');
    await terminal.see('Remove admin Grace with 2 passkeys and all sessions?');
    expect((await signIn(access, authenticator)).signed.name).toBe('Grace');
    terminal.type(`y${KEY.enter}`);
    expect(await terminal.exited).toBe(0);
    expect(listAdmins(access)).toEqual([]);
  });

  test('admins remove asks again if another admin now has the name', async () => {
    const question = 'Remove admin Grace with 1 passkey and all sessions?';
    const { access, variables, run } = world();
    await enrol(access, 'Grace');
    const terminal = openTerminal(['admins', 'remove', 'Grace'], variables);
    await terminal.see(question);
    await run('admins', 'remove', 'Grace', '--yes');
    const other = await enrol(access, 'Grace');
    terminal.type(`y${KEY.enter}`);
    await terminal.see('the admin was removed, and another one added under this name');
    await terminal.see(question);
    terminal.type(KEY.enter);
    expect(await terminal.exited).toBe(130);
    expect((await signIn(access, other)).signed.name).toBe('Grace');
  });
});
