import { join } from 'node:path';
import type { OpenApi } from './types.ts';

const FOLDER = join(import.meta.dir, '../../../docs/clients');

/** The ready-made clients and their uses, by file name. */
const CLIENTS = {
  'profile-lookup.ts': 'for Node 22.18 or newer, Bun and Deno, not for a web page',
  'profile_lookup.py': 'for Python 3.8 or newer',
};

/** Reads the clients in docs/clients/ for the document. */
export async function readClients(): Promise<NonNullable<OpenApi['x-clients']>> {
  const entries = Object.entries(CLIENTS).map(async ([name, meaning]) => {
    const source = await Bun.file(join(FOLDER, name)).text();
    return { name, description: meaning, source };
  });
  return await Promise.all(entries);
}
