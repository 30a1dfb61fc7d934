import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { identifierOfSecret } from '../../shared/keys/secret.ts';
import { globalsOf } from '../context.ts';
import { print, printJson } from '../terminal/output.ts';
import { readSecret } from '../terminal/read-secret.ts';

/** Adds `keys check`, which checks the form of a secret without a database. The secret is read from stdin or a prompt. */
export function addTo(parent: Command): void {
  parent
    .command('check')
    .description('Check a secret offline, from a hidden prompt or stdin: is it one of ours, is it mistyped?')
    .addHelpText(
      'after',
      '\nPrints the identifier only. Nothing is looked up: a sound secret may still be revoked.\n\nExample:\n  profilectl keys check < secret.txt',
    )
    .action(async (_options: unknown, command: Command) => {
      const secret = await readSecret('Secret');
      const identifier = identifierOfSecret(secret);
      if (globalsOf(command).json) printJson({ valid: identifier !== null, identifier });
      else if (identifier !== null) print(identifier);
      if (identifier === null) {
        throw new AppError(
          'refused',
          /^plk_/.test(secret)
            ? 'It begins like one of our secrets but is mistyped or cut short: the checksum does not fit.'
            : 'It is not one of our secrets: those begin with plk_.',
        );
      }
    });
}
