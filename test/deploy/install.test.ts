import { describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, SECRET_FILES } from '../../shared/config/config.ts';
import { parseEnvFile } from '../../shared/config/environment.ts';
import { commandEnvironment, PROJECT, profilectlWords } from '../support/cli.ts';
import { tempFolder } from '../support/world.ts';

// What an installation has beside its program: settings, units and the backup.

const DEPLOY = join(PROJECT, 'deploy');
const EXAMPLE = readFileSync(join(DEPLOY, 'settings.example'), 'utf8');
const SERVICE = join(DEPLOY, 'profile-lookup.service');

/** Runs a program to its end; throws its output if it fails. */
function output(words: readonly string[], env?: Record<string, string>): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...words], { cwd: DEPLOY, stdin: 'ignore', ...(env && { env }) });
  if (exitCode !== 0) throw new Error(`${words.join(' ')}: ${stdout}${stderr}`);
  return stdout.toString();
}

test('settings.example is accepted as it is, and with every line active except file names and secrets', () => {
  const parse = (lines: string) => readConfig(parseEnvFile('settings.example', lines));
  expect(parse(EXAMPLE).databasePath).toBe('/var/lib/profile-lookup/profiles.db');
  const active = EXAMPLE.replace(/^#(?!\w+_FILE=|METRICS_TOKEN=|PUBLIC_LOGO=)(?=[A-Z_]+=)/gm, '');
  expect(parse(active)).toMatchObject({ publicUrl: 'https://api.example.org', contact: 'support@example.org' });
});

test('the service sees its settings and secret files, and nothing else in their folder', () => {
  const unit = readFileSync(SERVICE, 'utf8');
  const seen = [...unit.matchAll(/^BindReadOnlyPaths=(.*)$/gm)].map(([, path]) => path);
  const secrets = SECRET_FILES.map((name) => new RegExp(`^#${name}=(.*)$`, 'm').exec(EXAMPLE)?.[1]);
  expect(unit).toContain('\nTemporaryFileSystem=/etc/profile-lookup:ro\n');
  expect(seen).toEqual(['/etc/profile-lookup/settings', ...secrets.map((path) => `-${path}`)]);
});

describe.skipIf(Bun.which('systemd-analyze') === null)('the units', () => {
  test('systemd finds no problem in them', () => {
    const folder = tempFolder();
    const units = readdirSync(DEPLOY).filter((name) => /\.(service|timer)$/.test(name));
    const copies = units.map((name) => {
      const text = readFileSync(join(DEPLOY, name), 'utf8');
      // systemd also checks that the programs exist.
      const programs = { '/usr/local/bin/profilectl': process.execPath, '/usr/local/lib/profile-lookup': DEPLOY };
      const edited = Object.entries(programs).reduce((unit, [path, here]) => unit.replaceAll(path, here), text);
      writeFileSync(join(folder, name), edited);
      return join(folder, name);
    });
    expect(copies.length).toBe(3);
    expect(output(['systemd-analyze', 'verify', '--man=no', ...copies])).toBe('');
  });

  test('systemd rates the exposure of the service at 1.5 of 10 or less', () => {
    const words = ['systemd-analyze', 'security', '--offline=true', '--no-pager', '--threshold=15', SERVICE];
    expect(output(words)).toContain('Overall exposure level');
  });
});

test.skipIf(Bun.which('restic') === null)(
  'a backup is sent off-site, checked, and restored elsewhere',
  () => {
    const folder = tempFolder();
    for (const name of ['bin', 'broken', 'cache']) mkdirSync(join(folder, name));
    const program = (path: string, script: string) => {
      writeFileSync(join(folder, path), `#!/bin/sh\n${script}\n`);
      chmodSync(join(folder, path), 0o755);
    };
    program('bin/profilectl', `exec ${profilectlWords([]).join(' ')} "$@"`);
    const settings = join(folder, 'settings');
    writeFileSync(settings, `DATABASE_PATH=${join(folder, 'profiles.db')}\n`, { mode: 0o600 });
    writeFileSync(join(folder, 'password'), 'for this test only');
    writeFileSync(join(folder, 'in.jsonl'), '{"id":7,"username":"Ada"}\n{"id":8,"username":"Grace"}\n');
    const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
    const env = commandEnvironment({
      PATH,
      SETTINGS: settings,
      CACHE_DIRECTORY: join(folder, 'cache'),
      XDG_CACHE_HOME: join(folder, 'restic-cache'),
      RESTIC_SETTINGS: join(folder, 'restic'),
    });
    // A repository's URL may have what a shell would act on.
    const restic = {
      RESTIC_REPOSITORY: `${join(folder, 'off-site')} $HOME & co;`,
      RESTIC_PASSWORD_FILE: join(folder, 'password'),
    };
    const lines = Object.entries(restic).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(join(folder, 'restic'), lines.join(''));
    const backUp = (path: string) => output([join(DEPLOY, 'backup.sh')], { ...env, PATH: path });
    const profilectl = (...words: string[]) => output(['profilectl', '--env-file', settings, ...words], env);
    profilectl('profiles', 'import', join(folder, 'in.jsonl'));
    const before = profilectl('profiles', 'export');
    output(['restic', 'init'], { ...env, ...restic });

    // Machines lose power during a backup: its copy and its lock stay.
    const lostPower =
      'yes | restic backup --quiet --stdin & until restic list locks | grep -q .; do sleep 0.1; done; kill -9 $!; wait';
    output(['sh', '-c', lostPower], { ...env, ...restic });
    mkdirSync(join(folder, 'cache/backup.left'));
    const lastBackup = () => JSON.parse(profilectl('status', '--json')).lastBackup;
    expect(lastBackup()).toBeNull();
    backUp(PATH);
    expect(lastBackup()).not.toBeNull();
    // No copy of the database stays in the clear.
    expect(readdirSync(join(folder, 'cache'))).toEqual([]);

    // The site is lost.
    for (const name of readdirSync(folder)) if (name.startsWith('profiles.db')) rmSync(join(folder, name));
    const back = ['restore', 'latest', '--tag', 'profile-lookup', '--target', join(folder, 'back')];
    output(['restic', ...back], { ...env, ...restic });
    profilectl('db', 'restore', '--yes', join(folder, 'back/profiles.db'));
    expect(profilectl('profiles', 'export')).toBe(before);

    // A damaged copy off-site fails the unit, and does not count.
    const last = lastBackup();
    program('broken/restic', 'if [ "$1" = restore ]; then echo no database >profiles.db; fi');
    expect(() => backUp(`${join(folder, 'broken')}:${PATH}`)).toThrow();
    expect(lastBackup()).toEqual(last);

    // A machine that is shut down sends SIGTERM.
    program('broken/restic', 'kill -TERM $PPID');
    expect(() => backUp(`${join(folder, 'broken')}:${PATH}`)).toThrow();
    expect(readdirSync(join(folder, 'cache'))).toEqual([]);
  },
  120_000,
);
