import { join } from 'node:path';
import { documentText } from './document/document.ts';

// `bun run openapi`: writes the OpenAPI document, which is committed and which the server sends. A test compares the two.

await Bun.write(join(import.meta.dir, 'openapi.json'), await documentText());
