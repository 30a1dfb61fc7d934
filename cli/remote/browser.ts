import { spawn } from 'node:child_process';
import { describeDesktop } from '../../shared/config/environment.ts';

/** Whether the person at the terminal would see a browser that is opened on this machine. */
export function hasBrowser(): boolean {
  const { browser, isRemote, hasDisplay } = describeDesktop();
  return !isRemote && (browser !== null || hasDisplay);
}

/**
 * Opens a URL in the browser, with the command in BROWSER or that of the desktop. The promise resolves only if that fails,
 * because some commands end when the browser is closed. Other users of the machine can read the URL in the list of processes.
 */
export function openBrowser(url: string): Promise<void> {
  const [command = '', ...words] = openerOf(url);
  // In its own session, so that Ctrl-C in this terminal does not end the browser.
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

function openerOf(url: string): string[] {
  const { browser } = describeDesktop();
  if (browser !== null) return ['/bin/sh', '-c', `${browser} "$1"`, 'sh', url];
  return [process.platform === 'darwin' ? 'open' : 'xdg-open', url];
}
