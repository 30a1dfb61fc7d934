import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { checkSource } from '../../shared/profiles/import/import-source.ts';
import { readTextFile } from '../terminal/read-text.ts';
import { changeOneBy } from './change.ts';

/** Adds `profiles links set`, which replaces all links of a profile, in the given order. */
export function addTo(parent: Command): void {
  parent
    .command('links')
    .description('Change the links of a profile.')
    .command('set')
    .description('Replace all links of a profile with those of a file, or of stdin with "-".')
    .argument('<username>', "the profile's username or an alias of it")
    .argument('<file>', 'a JSON array of links in their order; "-" is stdin')
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
        const links = parseLinks(await readText(file));
        return () => ({ links });
      }),
    );
}

/** Far more than a profile may have, so that the rules of profiles refuse too many links, with their own sentence. */
const MAX_KIB = 8_192;

async function readText(file: string): Promise<string> {
  if (file !== '-') checkSource(file);
  return readTextFile('<file>', file, MAX_KIB);
}

function parseLinks(text: string): unknown[] {
  try {
    const links: unknown = JSON.parse(text);
    if (Array.isArray(links)) return links;
  } catch {
    // The parser's own message is not shown, because it repeats the text.
  }
  throw new AppError(
    'usage',
    'The links must be a JSON array, such as [{"id":"l1","name":"site","link":"https://…"}].',
  );
}
