import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { checkSource } from '../../shared/profiles/import/import-source.ts';
import { parseJson } from '../../shared/text.ts';
import { readTextFile } from '../terminal/read-input.ts';
import { changeOneBy } from './change.ts';

/** Adds `profiles links set`, which replaces all links of a profile, in the given order. */
export function addTo(parent: Command): void {
  parent
    .command('links')
    .description('Change the links of a profile.')
    .command('set')
    .description('Replace all links of a profile with those in a file, or on stdin with "-".')
    .argument('<username>', "the profile's username or one of its aliases")
    .argument('<file>', 'a JSON array of links, in order; "-" is stdin')
    .addHelpText(
      'after',
      `
A link has id, name and link, and may have title, image, clicksCount and linkMode. "[]" removes all links.

Examples:
  profilectl profiles links set ada links.json
  profilectl profiles show ada --json | jq '.links | reverse' | profilectl profiles links set ada -`,
    )
    .action((username: string, file: string, _options: unknown, command: Command) =>
      changeOneBy(command, username, async () => {
        if (file !== '-') checkSource(file);
        const links = parseJson(await readTextFile('<file>', file, MAX_KIB));
        if (!Array.isArray(links)) throw new AppError('usage', BAD_LINKS);
        return () => ({ links });
      }),
    );
}

/** Far more than a profile may have, so that the rules of profiles refuse too many links in their own words. */
const MAX_KIB = 8_192;

const BAD_LINKS = 'The links must be a JSON array, such as [{"id":"l1","name":"site","link":"https://…"}].';
