import { join } from 'node:path';
import { documentText } from './openapi/document.ts';

// `bun run openapi` runs this file. It writes openapi.json, the document of the API, which is committed and which the server
// sends. A test compares it with what this code makes.

await Bun.write(join(import.meta.dir, 'openapi.json'), await documentText());
