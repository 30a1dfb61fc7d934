import { afterAll } from 'bun:test';
import type { Access } from '../../shared/access/access.ts';
import { closeSessionsFile, openSessionsFile } from '../../shared/access/sessions-file.ts';
import type { Deps } from '../../shared/deps.ts';
import { testDeps } from './world.ts';

/** Dependencies on a new database with a sessions file beside it; the file is closed when the test file is done. */
export function testAccess(
  changes: Partial<Deps> & { variables?: Record<string, string> } = {},
): Access & { folder: string } {
  const deps = testDeps(changes);
  const sessions = openSessionsFile(deps.config.databasePath);
  afterAll(() => closeSessionsFile(sessions));
  return { ...deps, sessions };
}
