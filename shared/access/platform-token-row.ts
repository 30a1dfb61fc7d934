import type { Opened } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';

/** Whether there is a token of a platform with this identifier: it was not removed. Throws `busy`. */
export function isPlatformToken({ $client: sqlite }: Opened, identifier: string): boolean {
  const row = guardDatabase(sqlite.filename, () =>
    sqlite.query<object, [string]>('SELECT 1 FROM platform_tokens WHERE identifier = ?').get(identifier),
  );
  return row !== null;
}
