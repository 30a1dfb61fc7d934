import { afterEach, expect, test } from 'bun:test';
import { hasBrowser, openBrowser } from '../../../cli/remote/browser.ts';

const NAMES = ['BROWSER', 'SSH_CONNECTION', 'SSH_TTY', 'DISPLAY', 'WAYLAND_DISPLAY', 'PATH'];
const before = Object.fromEntries(NAMES.map((name) => [name, process.env[name]]));

function setOnly(variables: Record<string, string>): void {
  for (const name of NAMES) {
    const value = variables[name] ?? (name === 'PATH' ? before.PATH : undefined);
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

afterEach(() => {
  setOnly(
    Object.fromEntries(Object.entries(before).filter((entry): entry is [string, string] => entry[1] !== undefined)),
  );
});

test('there is a browser if there is a display or BROWSER is set, but never over SSH', () => {
  const cases: [Record<string, string>, boolean][] = [
    [{}, process.platform !== 'linux'],
    [{ DISPLAY: ':0' }, true],
    [{ WAYLAND_DISPLAY: 'wayland-0' }, true],
    [{ BROWSER: 'firefox' }, true],
    [{ DISPLAY: ':0', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }, false],
    [{ BROWSER: 'firefox', SSH_TTY: '/dev/pts/1' }, false],
  ];
  for (const [variables, expected] of cases) {
    setOnly(variables);
    expect([variables, hasBrowser()]).toEqual([variables, expected]);
  }
});

test('a failing or missing browser is noticed, and the shell does not interpret the URL', async () => {
  const address = 'https://a.example.org/;exit 0&$(exit 0)';
  // Each of these commands fails; the last one because it receives the URL unchanged.
  for (const BROWSER of ['false', '/nowhere/browser', `test '${address}' !=`]) {
    setOnly({ BROWSER });
    await openBrowser(address);
  }
  setOnly({ DISPLAY: ':0', PATH: '/nowhere' });
  await openBrowser(address);
});
