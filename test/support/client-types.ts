import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { plugin } from 'bun';
import { createService } from '../../server/app.ts';
import { openApiDocument } from '../../server/docs/openapi.ts';
import { readTransport } from '../../server/http/transport.ts';
import { createLog } from '../../server/observability/log.ts';
import { readConfig } from '../../shared/config/config.ts';
import { closeReader } from '../../shared/db/reader.ts';
import { createDeps } from '../../shared/deps.ts';
import { openDatabase } from '../../shared/files/open.ts';

// Writes what clients of the API generate from /openapi.json, and what test/server/docs/client.test.ts uses; nothing of it is
// committed. `api-types.ts` has types by openapi-typescript, `api-client/` a client by hey-api that checks every response.
// test/run.ts runs this before the type check.

// Both use the JavaScript interface of the TypeScript compiler, which TypeScript 7 no longer has.
const { default: typescript } = await import('typescript-5');
plugin({
  name: 'TypeScript 5 for generators',
  setup(build) {
    build.module('typescript', () => ({ exports: { ...typescript, default: typescript }, loader: 'object' }));
  },
});
const { astToString, default: openapiTS } = await import('openapi-typescript');
const { createClient } = await import('@hey-api/openapi-ts');

const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-types-'));
const config = readConfig({ DATABASE_PATH: join(folder, 'profiles.db') });
const deps = createDeps(openDatabase(config.databasePath, 'serve'), config);
const log = createLog('silent', Date.now, () => {});
const service = createService(deps, readTransport(config), log);
const document = JSON.stringify(await openApiDocument(service));
closeReader(service.reader);
deps.db.$client.close();
rmSync(folder, { recursive: true });

const types = Bun.file(join(import.meta.dir, 'api-types.ts'));
const client = join(import.meta.dir, 'api-client');
const made = astToString(await openapiTS(document));
// Another test run of this checkout may be reading them.
if (!existsSync(client) || (await types.text().catch(() => '')) !== made) {
  await createClient({
    input: JSON.parse(document),
    // It is generated for less strict options of the compiler than this project's.
    output: { path: client, module: { extension: '.ts' }, header: '// @ts-nocheck' },
    plugins: ['@hey-api/client-fetch', 'valibot', { name: '@hey-api/sdk', validator: true }],
    logs: { level: 'silent' },
  });
  await types.write(made);
}
