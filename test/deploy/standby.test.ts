import { expect, test } from 'bun:test';
import { copyFileSync, globSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../shared/clock.ts';
import { commandEnvironment, type Finished, PROJECT, profilectlWords } from '../support/cli.ts';
import { makeDatabase } from '../support/machine/upgrade.ts';
import { tempFolder } from '../support/world.ts';

// The files of deploy/standby/ and deploy/backup/, checked and run by the programs that use them.

const STANDBY = join(PROJECT, 'deploy/standby');
const BACKUP = join(PROJECT, 'deploy/backup');

async function run(words: readonly string[], variables: Record<string, string> = {}): Promise<Finished> {
  const env = commandEnvironment(variables);
  const child = Bun.spawn([...words], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, stdout, stderr };
}

test('no job has a WorkingDirectory: systemd would mount the volume first, and jobs would fail on a standby instead of being skipped', () => {
  const units = globSync('deploy/{backup,import}/*.service', { cwd: PROJECT });
  expect(units).toHaveLength(3);
  for (const path of units) expect(readFileSync(join(PROJECT, path), 'utf8')).not.toMatch(/^WorkingDirectory=/m);
});

// service.test.ts checks all units without the drop-in.
test.skipIf(Bun.which('systemd-analyze') === null)(
  'systemd finds no problem in the service with the drop-in',
  async () => {
    const folder = tempFolder();
    const unit = join(folder, 'profile-lookup.service');
    const service = readFileSync(join(PROJECT, 'deploy/profile-lookup.service'), 'utf8');
    writeFileSync(unit, service.replace('/usr/local/bin/profilectl', process.execPath));
    mkdirSync(`${unit}.d`);
    copyFileSync(join(STANDBY, 'volume.conf'), `${unit}.d/volume.conf`);
    const [device, mountPoint] =
      readFileSync(join(STANDBY, 'fstab'), 'utf8').trim().split('\n').at(-1)?.split(' ') ?? [];
    writeFileSync(join(folder, 'var-lib-profile\\x2dlookup.mount'), `[Mount]\nWhat=${device}\nWhere=${mountPoint}\n`);
    const variables = { SYSTEMD_UNIT_PATH: `${folder}:` };
    const found = await run(['systemd-analyze', 'verify', '--man=no', unit], variables);
    expect(found).toEqual({ code: 0, stdout: '', stderr: '' });
  },
);

const DRBDADM = Bun.which('drbdadm', { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });

test.skipIf(DRBDADM === null)(
  'drbdadm accepts the resource, which replicates synchronously between two machines',
  async () => {
    const read = await run([DRBDADM as string, '--config-file', join(STANDBY, 'profiles.res'), 'dump', 'all']);
    expect(read.code).toBe(0);
    expect(read.stdout).toMatch(/protocol\s+C;/);
    expect(read.stdout.match(/^ +on (alpha|beta) \{/gm)).toHaveLength(2);
    // systemd would read a hyphen in the name of the unit drbd@<resource>.target as a slash.
    expect(read.stdout).toMatch(/^resource [a-z]+ \{/m);
  },
);

test.skipIf(Bun.which('restic') === null)(
  'the restore test fails if the newest backup off site is old or damaged',
  async () => {
    const folder = tempFolder();
    const programs = join(folder, 'bin');
    const cache = join(folder, 'cache');
    mkdirSync(programs);
    mkdirSync(cache);
    const words = profilectlWords([]).map((word) => `'${word}'`);
    writeFileSync(join(programs, 'profilectl'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 });
    writeFileSync(join(folder, 'password'), 'of this test only');
    const variables = {
      PATH: `${programs}:${process.env.PATH}`,
      DATABASE_PATH: join(folder, 'profiles.db'),
      CACHE_DIRECTORY: cache,
      XDG_CACHE_HOME: cache,
      RESTIC_REPOSITORY: join(folder, 'off-site'),
      RESTIC_PASSWORD_FILE: join(folder, 'password'),
    };
    makeDatabase(variables.DATABASE_PATH);
    expect((await run(['restic', 'init', '--quiet'], variables)).code).toBe(0);
    const testRestore = () => run([join(BACKUP, 'restore-test.sh')], variables);
    const sendCopy = async (change: (copy: string) => void) => {
      const copied = join(tempFolder(), 'profiles.db');
      copyFileSync(variables.DATABASE_PATH, copied);
      change(copied);
      const send = 'cd "$1" && exec restic backup --quiet --tag profile-lookup profiles.db';
      expect((await run(['sh', '-c', send, 'sh', join(copied, '..')], variables)).code).toBe(0);
    };

    const threeDaysAgo = systemClock.nowMs() / 1000 - 3 * 86_400;
    await sendCopy((copy) => utimesSync(copy, threeDaysAgo, threeDaysAgo));
    expect(await testRestore()).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The newest backup is more than two days old.\n',
    });
    await sendCopy((copy) => writeFileSync(copy, 'no database'));
    const damaged = await testRestore();
    expect([damaged.code, damaged.stderr]).toEqual([1, expect.stringContaining('is not a Profile Lookup database.')]);
    // Other programs keep their own files there.
    expect(readdirSync(cache).filter((name) => name.startsWith('restore-test'))).toEqual([]);
  },
  60_000,
);
