import type { OpenApi } from './document/types.ts';
import made from './openapi.json';

/**
 * The OpenAPI document of a server that clients reach at `publicUrl`: the committed file openapi.json, in which the address of
 * the default configuration is replaced by `publicUrl`.
 */
export function servedDocument(publicUrl: string): OpenApi {
  const url = made.servers[0]?.url as string;
  const address = JSON.stringify(publicUrl).slice(1, -1);
  return JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
}
