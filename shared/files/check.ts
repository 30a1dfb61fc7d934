import { beginSnapshot, type Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { countRows, damages } from './copy.ts';

/**
 * Checks pages, indexes, references and CHECK constraints, one of which says that each approved key has the hash of its
 * secret. Each fault is a clause without private data. Everything is read from one snapshot, so others may write
 * meanwhile. Throws `busy`, and `refused` for a file that can't be read.
 */
export function checkDatabase({ $client: sqlite }: Opened): { faults: string[]; profiles: number; keys: number } {
  return guardDatabase(sqlite.filename, () => {
    using _ = beginSnapshot(sqlite);
    const faults = damages(sqlite);
    // Damaged pages can't be counted.
    return faults.length > 0 ? { faults, profiles: 0, keys: 0 } : { faults, ...countRows(sqlite) };
  });
}
