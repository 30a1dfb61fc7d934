import { join } from 'node:path';
import { documentText } from './openapi/document.ts';

// `bun run openapi` runs this file. It writes openapi.json, which is committed and served. A test checks that it is up to date.

await Bun.write(join(import.meta.dir, 'openapi.json'), await documentText());
