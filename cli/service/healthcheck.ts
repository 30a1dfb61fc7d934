import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { configOf } from '../configuration.ts';
import { globalsOf } from '../context.ts';
import { print, printJson } from '../terminal/output.ts';
import { askServer, serverUrl } from './ask-server.ts';

const FORBIDDEN = 403;

/** Adds `healthcheck`, which asks the server on this machine whether it is ready, for containers. */
export function addHealthcheck(program: Command): void {
  program
    .command('healthcheck')
    .description('Ask the server whether it is ready; exit code 0 if so, 1 if not.')
    .addHelpText(
      'after',
      `
Reads HOST, PORT and TLS_CERT_FILE as "serve" does.

Example:
  profilectl healthcheck`,
    )
    .action(async (_options: unknown, command: Command) => {
      const globals = globalsOf(command);
      const url = serverUrl(configOf(globals), '/readyz');
      await expectReady(url);
      if (globals.json) printJson({ status: 'ok' });
      else print(`The server at ${url.origin} is ready.`);
    });
}

/** Throws `refused`, with the reason, if the server is not ready. */
async function expectReady(url: URL): Promise<void> {
  const { status } = await askServer(url);
  if (status === FORBIDDEN) {
    const sentence = `The server at ${url.origin} refuses plain HTTP from this machine; add 127.0.0.1 to TRUSTED_PROXIES.`;
    throw new AppError('refused', sentence);
  }
  if (status !== 200)
    throw new AppError('refused', `The server at ${url.origin} is not ready: it responds with ${status}.`);
}
