import { join } from 'node:path';
import { plugin } from 'bun';
import { manageDocument } from '../../server/manage/document/document.ts';
import { PROJECT } from './cli.ts';

// Writes test/support/api-types.ts and manage-types.ts, which are not committed: the types of clients, generated from the
// OpenAPI documents by openapi-typescript. test/run.ts runs this before the type check.

// openapi-typescript uses the JavaScript interface of the TypeScript compiler, which TypeScript 7 no longer has.
const { default: typescript } = await import('typescript-5');
plugin({
  name: 'TypeScript 5 for openapi-typescript',
  setup(build) {
    build.module('typescript', () => ({ exports: { ...typescript, default: typescript }, loader: 'object' }));
  },
});
const { astToString, default: openapiTS } = await import('openapi-typescript');

for (const [document, types] of [
  [await Bun.file(join(PROJECT, 'server/docs/openapi.json')).text(), 'api-types.ts'],
  [JSON.stringify(manageDocument()), 'manage-types.ts'],
] as const) {
  const made = astToString(await openapiTS(document));
  const file = Bun.file(join(import.meta.dir, types));
  // Another test run of this checkout may be reading it.
  if (!(await file.exists()) || (await file.text()) !== made) await file.write(made);
}
