import { describe, expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { userName } from '../../../shared/actor.ts';
import { systemClock } from '../../../shared/clock.ts';
import { storeFact } from '../../../shared/db/facts.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { issue, request } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { testCertificate } from '../../support/network.ts';
import { importLines, insertProfile } from '../../support/profiles.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

const DAY_MS = 86_400_000;

/** The warning if the disk of this machine is nearly full, which test/faults/files/disk.test.ts tests. */
const ABOUT_DISK = /^(Warning: )?The disk of .*\n?/m;

/** A database with a profile, and `profilectl status` on it. */
function world(ageDays = 0) {
  const clock = testClock(systemClock.nowMs() - ageDays * DAY_MS);
  const deps = testDeps({ clock });
  insertProfile(deps.db);
  const { databasePath } = deps.config;
  const base = { DATABASE_PATH: databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
  const status = async (variables: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await runCommand(['status', '--json'], { variables: { ...base, ...variables } });
    expect([code, stderr]).toEqual([0, '']);
    const found = JSON.parse(stdout);
    return { ...found, warnings: found.warnings.filter((warning: string) => !ABOUT_DISK.test(warning)) };
  };
  const text = async (variables: Record<string, string> = {}) =>
    (await runCommand(['status', '--all'], { variables: { ...base, ...variables } })).stdout.replace(ABOUT_DISK, '');
  return { deps, clock, databasePath, base, status, text };
}

describe('status without a running server', () => {
  test('reports that no server is running, counts the keys, and prints warnings', async () => {
    const { deps, status, text } = world();
    await request(deps);
    const { identifier } = await issue(deps, {}, { expiresAtMs: systemClock.nowMs() + 29 * DAY_MS });
    await issue(deps, {}, { expiresAtMs: systemClock.nowMs() + 31 * DAY_MS });
    const found = await status({ MAIL_URL: '' });
    expect(found.server).toMatchObject({ running: false, ready: null });
    expect(found.keys).toMatchObject({ pending: 1, Active: 2, revoked: 0 });
    expect(found.queue.pending).toBe(1);
    expect(found.warnings).toEqual([
      'MAIL_URL is not set: no key can be approved.',
      'No timer has made a backup yet; "Backups" in docs/install.md sets one up.',
      `These keys expire within 30 days: ${identifier}.`,
      'The server is not running.',
    ]);
    const shown = await text({ MAIL_URL: '' });
    expect(shown).toMatch(/^Server +not running$/m);
    expect(shown).toMatch(/^Queue +1 request, the oldest waiting for \d+s$/m);
    expect(shown.match(/^Warning: /gm)).toHaveLength(4);
  });

  test('counts the profiles, and says where the variables come from', async () => {
    const { deps, base } = world();
    insertProfile(deps.db, { id: 2, username: 'banned', banned: true });
    const file = join(deps.folder, 'settings');
    writeFileSync(file, 'CONTACT=help@example.org\n', { mode: 0o600 });
    const words = ['status', '--all', '--env-file', file];
    const { stdout } = await runCommand([...words, '--json'], { variables: base });
    expect(JSON.parse(stdout)).toMatchObject({
      profiles: { total: 2, banned: 1 },
      environment: { user: userName(), files: [file] },
    });
    const shown = (await runCommand(words, { variables: base })).stdout;
    expect(shown).toMatch(/^Profiles +2, of which 1 banned$/m);
    expect(shown).toContain(`read by this command as the user ${userName()} from the environment and ${file}\n`);
  });

  test('lists undelivered mails, including those not tried yet', async () => {
    const { deps, text } = world();
    const identifier = await request(deps);
    moveAndNotify(deps, 'reject', { identifier, reason: 'Not yet.', by: onBox('admin') });
    const shown = await text();
    expect(shown).toMatch(new RegExp(`^\\S+ +${identifier} +rejection +owner +waiting\n  not tried yet$`, 'm'));
    expect(shown).toContain('Warning: 1 mail is undelivered.\n');
  });

  test('on a terminal of 80 columns never truncates the reason for a failed webhook, and says how long ago it was', async () => {
    using webhook = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response('no', { status: 302 }),
    });
    const clock = testClock(systemClock.nowMs());
    const deps = testDeps({ clock, variables: { ADMIN_WEBHOOK_URL: `${webhook.url}hooks/any` } });
    insertProfile(deps.db);
    const identifier = await request(deps, { by: { kind: 'owner', name: 'owner', profileId: 1 } });
    await sendDueMails(deps, () => undefined);
    const words = ['status', '--db', deps.config.databasePath];
    const terminal = openTerminal(words, {}, undefined, 80);
    expect(await terminal.exited).toBe(0);
    const reason = 'The webhook responded with 302 ("no"); check ADMIN_WEBHOOK_URL.';
    const [row, below] = terminal.screen().replaceAll('\r', '').split('\n').slice(1);
    expect(row).toMatch(new RegExp(`^\\d+s ago +${identifier}  request  webhook  waiting$`));
    expect(below).toBe(`  tried once: ${reason}`);
  });

  test('warns about old backups, old requests, and files that other users can read', async () => {
    const { deps, status, databasePath } = world(8);
    await request(deps);
    const file = join(deps.folder, 'backup.db');
    await runCommand(['db', 'backup', '--scheduled', file], { variables: { DATABASE_PATH: databasePath } });
    const young = await status();
    expect(young.lastBackup.file).toBe(file);
    expect(young.warnings).toEqual([
      'A request has been waiting for a decision for 8 days.',
      'The server is not running.',
    ]);
    const at = new Date(systemClock.nowMs() - 7 * DAY_MS).toISOString();
    storeFact(deps.db.$client, 'last backup', JSON.stringify({ at, file }));
    chmodSync(databasePath, 0o644);
    const { warnings } = await status();
    expect(warnings[0]).toContain('mode 644');
    expect(warnings).toContain('The last backup by a timer is 7 days old.');
  });

  test('shows the last import with its actor and counts', async () => {
    const { deps, status, text } = world(1);
    expect(await status()).toMatchObject({ lastImport: null });
    expect(await text()).toMatch(/^Last import +none$/m);
    const at = new Date(deps.clock.nowMs()).toISOString();
    await importLines(deps, [{ id: 1, username: 'ada' }, 'nonsense', { id: 2, username: 'bob' }]);
    // An import that changes nothing does not count.
    await importLines(deps, [{ id: 3, username: 'ADA' }], { strict: true });
    const by = 'operator (on the box)';
    expect(await status()).toMatchObject({ lastImport: { at, by, lines: 3, refused: 1 } });
    expect(await text()).toMatch(/^Last import +1d ago, by operator \(on the box\): 3 lines, 1 refused$/m);
  });

  test('shows the last lines sent by a backend separately from imports', async () => {
    const { deps, status, text } = world(1);
    expect(await status()).toMatchObject({ lastFeed: null });
    expect(await text()).toMatch(/^Last feed +none$/m);
    const at = new Date(deps.clock.nowMs()).toISOString();
    await importLines(deps, [{ id: 1, username: 'ada' }]);
    await importLines(deps, [{ id: 2, username: 'bob' }, 'nonsense'], { by: { kind: 'backend', name: 'backend' } });
    expect(await status()).toMatchObject({
      lastImport: { at, by: 'operator (on the box)', lines: 1, refused: 0 },
      lastFeed: { at, by: 'backend backend', lines: 2, refused: 1 },
    });
    expect(await text()).toMatch(/^Last feed +1d ago, by backend backend: 2 lines, 1 refused$/m);
  });

  test('warns about a certificate that can’t be read, but not about a valid one', async () => {
    const { deps, status } = world();
    const { certFile, keyFile } = testCertificate();
    expect((await status({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile })).warnings).toHaveLength(2);
    const broken = join(deps.folder, 'broken.pem');
    writeFileSync(broken, 'none');
    const { warnings } = await status({ TLS_CERT_FILE: broken, TLS_KEY_FILE: keyFile });
    expect(warnings).toContain(`The certificate in ${broken} can't be read.`);
  });
});

test('status with a running server shows its URL and whether it is ready, or prints only what needs attention', async () => {
  const { deps, base, databasePath, status, text } = world();
  const server = await startServerProcess(base);
  const port = { PORT: String(server.port) };
  expect((await status(port)).server).toEqual({ running: true, url: server.url, ready: true });
  const shown = await text(port);
  expect(shown).toMatch(/^Server +running on http:\S+, ready$/m);
  expect(shown).toMatch(/^Variables +read by this command .*; the running server may use others$/m);
  const elsewhere = await status({ PORT: '1' });
  expect(elsewhere.server).toMatchObject({ running: true, ready: null });
  expect(elsewhere.warnings.join()).toContain("doesn't answer");

  const brief = async () =>
    (await runCommand(['status'], { variables: { ...base, ...port } })).stdout.replace(ABOUT_DISK, '');
  expect(await brief()).toMatch(/^Warning: No timer has made a backup yet; .*\n$/);
  const backup = ['db', 'backup', '--scheduled', join(deps.folder, 'backup.db'), '--db', databasePath];
  expect((await runCommand(backup)).code).toBe(0);
  expect(await brief()).toBe('All well.\n');
  expect(await server.end()).toBe(0);
  expect((await status(port)).server.running).toBe(false);
});
