import { openFile } from '../../shared/db/connect.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { MIGRATIONS } from '../../shared/db/migrations.ts';

/** Makes a database of an earlier schema: only the first so many migrations; `fill` puts something in. */
export function makeOlderDatabase(path: string, applied = MIGRATIONS.length - 1, fill: readonly string[] = []): void {
  const sqlite = openFile(path, 1000);
  migrate(sqlite, path, MIGRATIONS.slice(0, applied));
  for (const statement of fill) sqlite.run(statement);
  sqlite.close();
}
