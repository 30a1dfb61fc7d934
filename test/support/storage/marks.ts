import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * A line of an import that contains the mark `xm<id>q` in each of its texts. The mark begins with two letters: SQLite
 * writes a page number before the rest of a long string, which with one letter could complete half a mark. Sizes differ
 * so that rows are on shared and on overflow pages, and in the middle of either. A later `round` changes some of the
 * texts.
 */
export function markedProfile(id: number, round = 0) {
  const mark = `xm${id}q`;
  return {
    id,
    username: `${mark}user${round}`,
    aliases: [`${mark}alias${round}`, `${mark}other`],
    authId: `auth0|${mark}${round}`,
    email: `${mark}${round}@example.org`,
    displayName: `${mark} ${round}`,
    customize: { bio: `${mark} `.repeat(((id * 37) % 400) * (id % 50 === 0 ? 10 : 1)) },
    links: [{ id: 'l', name: mark, link: `https://example.org/${mark}` }],
  };
}

/**
 * The marks found, in lower or upper case, in the database file or in files beside it whose names begin with its
 * name, each with its first location: the file, the page and the bytes around it.
 */
export function marksBeside(databasePath: string): Map<number, string> {
  const folder = dirname(databasePath);
  const found = new Map<number, string>();
  for (const name of readdirSync(folder).filter((one) => one.startsWith(basename(databasePath)))) {
    const text = readFileSync(join(folder, name), 'latin1');
    for (const { index, 1: id } of text.matchAll(/xm(\d+)q/gi)) {
      if (found.has(Number(id))) continue;
      const page = `page ${Math.floor(index / 4096) + 1}, byte ${index % 4096}`;
      found.set(Number(id), `${name}, ${page}: ${JSON.stringify(text.slice(Math.max(0, index - 32), index + 32))}`);
    }
  }
  return found;
}
