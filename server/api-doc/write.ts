import { join } from 'node:path';
import { manageDocumentText } from '../manage/document/document.ts';
import { documentText } from './document/document.ts';

// `bun run openapi` runs this file. It writes openapi.json here and in server/manage, which are committed and which the server
// sends. Tests compare the files with what this code makes.

await Bun.write(join(import.meta.dir, 'openapi.json'), await documentText());
await Bun.write(join(import.meta.dir, '../manage/openapi.json'), manageDocumentText());
