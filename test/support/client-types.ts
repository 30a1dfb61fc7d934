import { join } from 'node:path';
import { plugin } from 'bun';
import { PROJECT } from './cli.ts';

// Writes test/support/api-types.ts, which is not committed: the types of a client, made of the OpenAPI document by
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

const types = await openapiTS(await Bun.file(join(PROJECT, 'server/api-doc/openapi.json')).text());
await Bun.write(join(import.meta.dir, 'api-types.ts'), astToString(types));
