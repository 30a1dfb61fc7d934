import { spawn } from 'node:child_process';
import { describeDesktop } from '../../shared/config/environment.ts';

/** Whether a browser opened on this machine would be visible to the person at the terminal. */
export function hasBrowser(): boolean {
  const { browser, isRemote, hasDisplay } = describeDesktop();
  return !isRemote && (browser !== null || hasDisplay);
}

/**
 * Opens an address in the browser, with the command in BROWSER or the desktop's own. The promise resolves if that fails, and
 * otherwise never, because some commands end only when the browser is closed. Other users of the machine can read the
 * address in the list of processes.
 */
export function openBrowser(address: string): Promise<void> {
  const [command = '', ...words] = openerOf(address);
  // In a session of its own, so that Ctrl-C in this terminal does not end the browser.
  const child = spawn(command, words, { stdio: 'ignore', detached: true });
  child.unref();
  const { promise, resolve } = Promise.withResolvers<void>();
  child
    .once('error', () => resolve())
    .once('exit', (code) => {
      if (code !== 0) resolve();
    });
  return promise;
}

function openerOf(address: string): string[] {
  const { browser } = describeDesktop();
  if (browser !== null) return ['/bin/sh', '-c', `${browser} "$1"`, 'sh', address];
  return [process.platform === 'darwin' ? 'open' : 'xdg-open', address];
}
