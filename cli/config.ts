import type { Command } from 'commander';
import { isoTime, systemClock } from '../shared/clock.ts';
import { type ConfigReport, reportConfig } from '../shared/config/check.ts';
import { checkDatabasePath } from '../shared/config/values.ts';
import { createMailDeps } from '../shared/deps.ts';
import { AppError } from '../shared/errors.ts';
import { isMailAddress } from '../shared/mail/address.ts';
import { testMail } from '../shared/mail/texts.ts';
import { cleanForTerminal } from '../shared/text.ts';
import { configOf, globalsOf } from './context.ts';
import { counted, print, printJson, table } from './terminal/output.ts';

/** Adds `config check` and `mail test`. */
export function addConfig(program: Command): void {
  program
    .command('config')
    .description('Check the configuration.')
    .command('check')
    .description('Show every variable, where its value comes from, and any problems.')
    .addHelpText(
      'after',
      `
Passwords and tokens are hidden. The exit code is 2 if a problem keeps commands
or the server from starting.

Example:
  profilectl config check --json`,
    )
    .action((_options: unknown, command: Command) => checkConfig(command));
  program
    .command('mail')
    .description('Send a test mail.')
    .command('test')
    .description('Send a test mail the way secrets are sent, and explain failures.')
    .argument('<address>', 'the recipient')
    .addHelpText(
      'after',
      `
Exit codes: 0 accepted by the mail server, 1 refused for good or MAIL_URL is not
set, 75 try again later. Accepted does not mean delivered: check the mailbox.

Example:
  profilectl mail test ada@example.org`,
    )
    .action((address: string, _options: unknown, command: Command) => sendTestMail(address, command));
}

function checkConfig(command: Command): void {
  const { json, envFile, db } = globalsOf(command);
  if (db !== undefined) checkDatabasePath(db);
  const report = reportConfig({ envFile, db }, systemClock);
  if (json) printJson({ ok: report.faults.length === 0, ...report });
  else print(reportText(report));
  if (report.faults.length > 0) throw new AppError('bad_config', `${counted(report.faults.length, 'problem')} found.`);
}

function reportText({ variables, faults, warnings }: ConfigReport): string {
  const rows = variables.map(({ name, value, from }) => [name, value ?? '–', from]);
  const remarks = [...faults.map((text) => `Problem: ${text}`), ...warnings.map((text) => `Warning: ${text}`)];
  const below = remarks.length === 0 ? 'No problems found.' : remarks.map((text) => cleanForTerminal(text)).join('\n');
  // Values are never truncated, because people compare or copy them.
  return `${table(['Variable', 'Value', 'From'], rows)}\n\n${below}`;
}

/** Sends a test mail like a mail with a secret. */
async function sendTestMail(to: string, command: Command): Promise<void> {
  const globals = globalsOf(command);
  const config = configOf(globals);
  const { mail, publicName, publicUrl, contact } = config;
  if (!isMailAddress(to)) throw new AppError('usage', 'The address must be one plain e-mail address.');
  const mailer = await createMailDeps(config).mailer();
  if (mail === null || mailer === null) {
    throw new AppError('refused', 'MAIL_URL is not set; set it to smtp://user:password@host:587, or to file:<folder>.');
  }
  const sentAt = isoTime(systemClock.nowMs());
  const delivery = await mailer.send({ ...testMail({ sentAt, publicName, publicUrl, contact }), to });
  if (delivery.outcome !== 'accepted') {
    const isPermanent = delivery.outcome === 'refused' && delivery.permanent;
    throw new AppError(isPermanent ? 'refused' : 'try_later', delivery.reason);
  }
  const where = mail.kind === 'server' ? { server: `${mail.host}:${mail.port}` } : { folder: mail.folder };
  if (globals.json) printJson({ to, accepted: true, ...where });
  else
    print('folder' in where ? `Written to the folder ${where.folder}.` : `${where.server} accepted the mail to ${to}.`);
}
