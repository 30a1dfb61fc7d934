import { isMailAddress } from '../../shared/mail/address.ts';
import type { OpenApi } from './document/types.ts';
import made from './openapi.json';

/**
 * The OpenAPI document of a server that clients reach at `publicUrl`: the committed file openapi.json, in which the address of
 * the default configuration is replaced by `publicUrl`, and to which `contact` is added: whom readers may ask, an e-mail
 * address, a URL, or null.
 */
export function servedDocument(publicUrl: string, contact: string | null = null): OpenApi {
  const url = made.servers[0]?.url as string;
  const address = JSON.stringify(publicUrl).slice(1, -1);
  const document: OpenApi = JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
  if (contact !== null) document.info.contact = isMailAddress(contact) ? { email: contact } : { url: contact };
  return document;
}
