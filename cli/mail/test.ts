import type { Command } from 'commander';
import { systemClock } from '../../shared/clock.ts';
import { createMailDeps } from '../../shared/deps.ts';
import { tryMail } from '../../shared/upkeep/mail-test.ts';
import { configOf } from '../configuration.ts';
import { globalsOf } from '../context.ts';
import { print, printJson } from '../terminal/output.ts';
import { waitWhile } from '../terminal/waiting.ts';

const INTERRUPTED = 'Interrupted; the mail may have been sent.';

/** Adds `mail test`, which sends a test mail. */
export function addTo(parent: Command): void {
  parent
    .command('test')
    .description('Send a test mail the way secrets are sent, and explain failures.')
    .argument('<address>', 'the recipient')
    .addHelpText(
      'after',
      `
Exit codes: 0 accepted by the mail server, 1 refused permanently (or MAIL_URL is not set), 75 try again later.
Accepted does not mean delivered: check the mailbox and its spam folder.

Example:
  profilectl mail test ada@example.org`,
    )
    .action(async (address: string, _options: unknown, command: Command) => {
      const globals = globalsOf(command);
      const config = configOf(globals);
      await waitWhile(
        systemClock,
        () => tryMail(createMailDeps(config), address),
        async () => INTERRUPTED,
      );
      const where = config.mail?.kind === 'folder' ? { folder: config.mail.folder } : { server: serverOf(config.mail) };
      if (globals.json) printJson({ to: address, accepted: true, ...where });
      else if (where.folder !== undefined) print(`Written to the folder ${where.folder}.`);
      else print(`${where.server} accepted the mail to ${address}.`);
    });
}

function serverOf(target: ReturnType<typeof configOf>['mail']): string {
  return target?.kind === 'server' ? `${target.host}:${target.port}` : '';
}
