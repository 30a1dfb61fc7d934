import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plugin } from 'bun';
import { createApp } from '../../server/app.ts';
import { createLog } from '../../server/observability/log.ts';
import { closeService, createService } from '../../server/service.ts';
import { readConfig } from '../../shared/config/config.ts';
import { withTables } from '../../shared/db/tables.ts';
import { openDatabase } from '../../shared/db-files/open.ts';
import { createDeps } from '../../shared/deps.ts';

// Writes test/support/api-types.ts, which is not committed: the types of clients, generated from /openapi.json by
// openapi-typescript. test/run.ts runs this before the type check.

// openapi-typescript uses the JavaScript interface of the TypeScript compiler, which TypeScript 7 no longer has.
const { default: typescript } = await import('typescript-5');
plugin({
  name: 'TypeScript 5 for openapi-typescript',
  setup(build) {
    build.module('typescript', () => ({ exports: { ...typescript, default: typescript }, loader: 'object' }));
  },
});
const { astToString, default: openapiTS } = await import('openapi-typescript');

const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-types-'));
const config = readConfig({ DATABASE_PATH: join(folder, 'profiles.db') });
const deps = createDeps(withTables(openDatabase(config.databasePath, 'serve')), config);
const service = createService(
  deps,
  createLog('silent', Date.now, () => {}),
);
const answer = await createApp(service).fetch(new Request('http://localhost/openapi.json'));
const made = astToString(await openapiTS(await answer.text()));
closeService(service);
deps.db.$client.close();
rmSync(folder, { recursive: true });

const file = Bun.file(join(import.meta.dir, 'api-types.ts'));
// Another test run of this checkout may be reading it.
if (!(await file.exists()) || (await file.text()) !== made) await file.write(made);
