import { describe, expect, spyOn, test } from 'bun:test';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { changeLogins, type Logins, readLogins } from '../../../cli/remote/stored-logins.ts';
import { cleanEnvironment, PROJECT } from '../../support/cli.ts';
import { mountSmallDisk, NO_MOUNT } from '../../support/machine/small-disk.ts';
import { HAS_STRACE } from '../../support/machine/strace.ts';
import { tempFolder } from '../../support/world.ts';

const URL_A = 'https://a.example.org';
const LOGIN = { token: 'token-a', endsAt: '2027-01-01T00:00:00.000Z' };

/** A path for logins in a new settings folder; with `text` the file exists. */
function pathOf(text?: string): string {
  const path = join(tempFolder(), 'settings/profilectl/hosts.json');
  if (text === undefined) return path;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

const add = (url: string) => (logins: Logins) => void logins.set(url, LOGIN);

/** The command of a process that stores a login for each of these servers, one after the other. */
function storing(path: string, urls: readonly string[]): string[] {
  const code = `
    const { changeLogins } = await import('${PROJECT}/cli/remote/stored-logins.ts');
    for (const url of ${JSON.stringify(urls)}) {
      await changeLogins((logins) => logins.set(url, ${JSON.stringify(LOGIN)}), '${path}');
    }`;
  return [process.execPath, '--no-env-file', '-e', code];
}

test('logins are stored in a file of mode 0600 in a folder of mode 0700, and read again', async () => {
  const path = pathOf();
  expect(readLogins(path)).toEqual(new Map());
  await changeLogins(add(URL_A), path);
  await changeLogins((logins) => logins.set('http://localhost:3000', { token: 'token-b', endsAt: null }), path);
  expect([...readLogins(path)]).toEqual([
    ['http://localhost:3000', { token: 'token-b', endsAt: null }],
    [URL_A, LOGIN],
  ]);
  const modes = [path, `${path}.lock`, dirname(path), dirname(dirname(path))].map((one) =>
    (statSync(one).mode & 0o777).toString(8),
  );
  expect(modes).toEqual(['600', '600', '700', '700']);
  await changeLogins((logins) => void logins.delete(URL_A), path);
  expect([...readLogins(path).keys()]).toEqual(['http://localhost:3000']);
  expect(readdirSync(dirname(path)).toSorted()).toEqual(['hosts.json', 'hosts.json.lock']);
  expect(statSync(`${path}.lock`).size).toBe(0);
});

test('processes that store logins at the same time lose none', async () => {
  const path = pathOf();
  const urls = [1, 2, 3, 4].map((one) => Array.from({ length: 10 }, (_, at) => `https://h${one}-${at}.example.org`));
  const codes = urls.map((some) => Bun.spawn(storing(path, some), { env: cleanEnvironment() }).exited);
  expect(await Promise.all(codes)).toEqual([0, 0, 0, 0]);
  expect([...readLogins(path).keys()].toSorted()).toEqual(urls.flat().toSorted());
});

test.skipIf(!HAS_STRACE)('strace: the file always has mode 0600, and is replaced as a whole', () => {
  const path = pathOf();
  const trace = join(tempFolder(), 'trace');
  const files = ['openat', 'write', 'pwrite64', 'fsync', 'rename', 'chmod', 'fchmod', 'fchmodat', 'link', 'symlink'];
  const words = ['strace', '-f', '-y', '-o', trace, '-e', `trace=${files.join(',')}`, ...storing(path, [URL_A, URL_A])];
  const umask = process.umask(0);
  try {
    expect(Bun.spawnSync(words, { env: cleanEnvironment() }).exitCode).toBe(0);
  } finally {
    process.umask(umask);
  }
  const calls = readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => line.includes(dirname(path)) && !line.includes('execve'))
    .map((line) => line.replace(/^\d+ +/, '').replaceAll(dirname(path), '.'));
  // The lock file stays empty.
  const ofLock = calls.filter((call) => call.includes('hosts.json.lock'));
  expect(ofLock.filter((call) => !call.startsWith('openat('))).toEqual([]);
  const changing = calls.filter((call) => !ofLock.includes(call) && !/^openat\((?!.*O_CREAT)/.test(call));
  const once = [
    /^openat\(.*\.\/hosts\.json\.new", O_\w+(\|O_\w+)*, 0600\) = /,
    /^p?write(64)?\(.*\.\/hosts\.json\.new>/,
    /^fsync\(.*\.\/hosts\.json\.new>/,
    /^rename\("\.\/hosts\.json\.new", "\.\/hosts\.json"\) = 0/,
    /^fsync\(.*<\.>\) = 0/,
  ];
  expect(changing).toEqual([...once, ...once].map((call) => expect.stringMatching(call)));
  expect(changing[0]).toMatch(/O_EXCL/);
});

describe('an invalid file is refused with its name, and not changed', () => {
  const fault = async (path: string) => {
    const before = existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'utf8') : null;
    await expect(changeLogins(add(URL_A), path)).rejects.toThrow(path);
    expect(existsSync(`${path}.new`)).toBe(false);
    if (before !== null) expect(readFileSync(path, 'utf8')).toBe(before);
    try {
      readLogins(path);
    } catch (error) {
      return (error as Error).message.replace(path, 'PATH');
    }
    throw new Error('nothing was thrown');
  };

  const malformed = [
    '',
    'nonsense',
    'null',
    '[]',
    '{}',
    '{"hosts":null}',
    '{"hosts":["https://a.example.org"]}',
    '{"hosts":{"https://a.example.org":null}}',
    '{"hosts":{"https://a.example.org":{"token":""}}}',
    '{"hosts":{"https://a.example.org":{"token":7}}}',
    '{"hosts":{"https://a.example.org":{"token":"hunter2\\n"}}}',
    '{"hosts":{"https://a.example.org":{"token":"t","endsAt":"soon"}}}',
    '{"hosts":{"https://a.example.org":{"token":"t","endsAt":7}}}',
    '{"hosts":{"http://a.example.org":{"token":"t"}}}',
    '{"hosts":{"https://a.example.org":{"token":"t"}}',
  ];
  test.each(malformed)('malformed: %s', async (text) => {
    expect(await fault(pathOf(text))).toBe('PATH is not a valid login file; remove it, and log in again.');
  });

  test('a folder or a pipe', async () => {
    const folder = pathOf();
    mkdirSync(folder, { recursive: true });
    expect(await fault(folder)).toBe('PATH is not a regular file; remove it, and log in again.');
    const pipe = pathOf('');
    Bun.spawnSync(['rm', pipe]);
    expect(Bun.spawnSync(['mkfifo', pipe]).exitCode).toBe(0);
    expect(await fault(pipe)).toBe('PATH is not a regular file; remove it, and log in again.');
  });

  test('a symbolic link', async () => {
    const path = pathOf('');
    Bun.spawnSync(['rm', path]);
    symlinkSync(pathOf('{"hosts":{}}'), path);
    expect(await fault(path)).toBe('PATH is a symbolic link, which is not followed; replace it with the file.');
  });

  test.skipIf(process.geteuid?.() !== 0)('as root: a file of another user', async () => {
    const path = pathOf('{"hosts":{}}');
    chownSync(path, 65_534, 65_534);
    expect(await fault(path)).toBe('PATH belongs to another user, so it is not read; remove it, and log in again.');
  });

  test.skipIf(NO_MOUNT !== null)('a full disk, a read-only disk, and a file in place of the folder', async () => {
    const disk = mountSmallDisk(64 * 1024);
    const path = join(disk.folder, 'profilectl/hosts.json');
    await changeLogins(add(URL_A), path);
    disk.fill();
    const sentence = (one: string, what: string) =>
      expect(changeLogins(add('https://b.example.org'), one)).rejects.toThrow(what);
    await sentence(path, `The disk of ${path} is full; the file is unchanged.`);
    expect(readdirSync(dirname(path)).toSorted()).toEqual(['hosts.json', 'hosts.json.lock']);
    expect([...readLogins(path).keys()]).toEqual([URL_A]);
    const readOnly = join(disk.showReadOnly(), 'profilectl/hosts.json');
    await sentence(readOnly, `${readOnly} can't be written (EROFS); check the file, its folder and its disk.`);
    expect([...readLogins(readOnly).keys()]).toEqual([URL_A]);
    const below = join(pathOf(''), 'profilectl/hosts.json');
    await sentence(below, `${below} can't be written (`);
    expect(readLogins(below)).toEqual(new Map());
  });
});

// Root may read any file, so the test takes that right away from the process.
const canTry = process.geteuid?.() === 0 && Bun.which('setpriv') !== null;

test.skipIf(!canTry)(
  'setpriv, as root: an unreadable file is refused by name, and an inaccessible folder has no logins',
  () => {
    const path = pathOf('{"hosts":{}}');
    const code = `
    const { readLogins } = await import('${PROJECT}/cli/remote/stored-logins.ts');
    try { console.log(readLogins('${path}').size); } catch (error) { console.log(error.message); }`;
    const words = ['setpriv', '--bounding-set=-all', '--inh-caps=-all', process.execPath, '--no-env-file', '-e', code];
    const read = () => Bun.spawnSync(words, { env: cleanEnvironment() }).stdout.toString();
    chmodSync(path, 0);
    expect(read()).toBe(`${path} can't be read (EACCES); check the file, its folder and its disk.\n`);
    chmodSync(dirname(path), 0);
    expect(read()).toBe('0\n');
    chmodSync(dirname(path), 0o700);
  },
);

test('a file that other users can read causes a warning, and has mode 0600 after the next change', async () => {
  const path = pathOf('{"hosts":{}}');
  chmodSync(path, 0o640);
  const printed = spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    readLogins(path);
    await changeLogins(add(URL_A), path);
    readLogins(path);
    const warning = `Warning: ${path} can be read by other users of this machine (mode 640); chmod 600 it.\n`;
    expect(printed.mock.calls).toEqual([[warning]]);
  } finally {
    printed.mockRestore();
  }
});

test('a change waits for another process that changes the logins, with a time limit, but not for a killed one', async () => {
  const path = pathOf('{"hosts":{}}');
  // The file that a killed process leaves. The process below never finishes.
  writeFileSync(`${path}.new`, '{"hosts":{"https://b.exam', { mode: 0o600 });
  const code = `
    const { changeLogins } = await import('${PROJECT}/cli/remote/stored-logins.ts');
    await changeLogins(() => {
      require('node:fs').writeSync(1, 'at it');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }, '${path}');`;
  const words = [process.execPath, '--no-env-file', '-e', code];
  const other = Bun.spawn(words, { env: cleanEnvironment(), stdout: 'pipe' });
  for await (const _said of other.stdout) break;
  await expect(changeLogins(add(URL_A), path, 40)).rejects.toMatchObject({
    code: 'try_later',
    message: `Another profilectl is changing ${path}; try again when it is done.`,
  });
  // In another process, because waiting blocks this one.
  Bun.spawn(['sh', '-c', `sleep 0.2; kill -9 ${other.pid}`]);
  await changeLogins(add(URL_A), path);
  expect(await other.exited).not.toBe(0);
  expect([...readLogins(path).keys()]).toEqual([URL_A]);
  expect(existsSync(`${path}.new`)).toBe(false);
});
