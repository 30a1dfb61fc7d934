import { plugin } from 'bun';
import { ROUTES } from '../../server/app.ts';
import { openApiDocument } from '../../server/openapi/document.ts';

// Prints the types that a client has, made of the OpenAPI document by openapi-typescript:
//   bun test/support/client-types.ts > test/support/api-types.ts

// It builds them with the compiler's JavaScript interface, which TypeScript 7 has no more.
const { default: typescript } = await import('typescript-5');
plugin({
  name: 'TypeScript 5 for openapi-typescript',
  setup(build) {
    build.module('typescript', () => ({ exports: { ...typescript, default: typescript }, loader: 'object' }));
  },
});
const { astToString, default: openapiTS } = await import('openapi-typescript');

const document = openApiDocument('http://127.0.0.1:3000', ROUTES);
const types = await openapiTS(JSON.stringify(document));
process.stdout.write(`// Made by test/support/client-types.ts; not to be edited.\n\n${astToString(types)}`);
