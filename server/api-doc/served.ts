import type { OpenApi } from './document/types.ts';
import made from './openapi.json';

/**
 * The OpenAPI document of a server that clients reach at `publicUrl`: the committed file, which `bun run openapi` writes,
 * with that address in the place of the one that it was made for.
 */
export function servedDocument(publicUrl: string): OpenApi {
  const url = made.servers[0]?.url as string;
  const address = JSON.stringify(publicUrl).slice(1, -1);
  return JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
}
