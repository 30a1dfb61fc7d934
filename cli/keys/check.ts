import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { identifierOfSecret } from '../../shared/keys/secret.ts';
import { globalsOf } from '../context.ts';
import { print, printJson } from '../terminal/output.ts';
import { readSecret } from '../terminal/read-input.ts';

/** Adds `keys check`, which checks the format and checksum of a secret without a database. */
export function addTo(parent: Command): void {
  parent
    .command('check')
    .description('Check offline whether a secret, from a hidden prompt or stdin, is well-formed or mistyped.')
    .addHelpText(
      'after',
      '\nPrints only the identifier. The key is not looked up, so it may be revoked.\n\nExample:\n  profilectl keys check < secret.txt',
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
            ? 'It begins like one of our secrets, but is mistyped or truncated: its checksum does not match.'
            : 'It is not one of our secrets, which begin with plk_.',
        );
      }
    });
}
