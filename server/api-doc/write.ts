import { join } from 'node:path';
import { documentText } from './document/document.ts';

// `bun run openapi` runs this file. It writes openapi.json, which is committed and which the server sends. A test compares the
// file with what this code makes.

await Bun.write(join(import.meta.dir, 'openapi.json'), await documentText());
