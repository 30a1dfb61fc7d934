import { isMailAddress } from '../../shared/mail/address.ts';
import type { OpenApi } from './document/types.ts';
import made from './openapi.json';

/** A document as it is committed: of a server at an address that others take the place of. */
type Made = { info: object; servers: { url: string }[] };

/** The OpenAPI document of the API as a server sends it: {@link addressedDocument} of the committed openapi.json. */
export function servedDocument(publicUrl: string, contact: string | null = null): OpenApi {
  return addressedDocument<OpenApi>(made, publicUrl, contact);
}

/**
 * A committed document in which the address of the default configuration is replaced by `publicUrl`, and to which `contact`
 * is added: whom readers may ask, an e-mail address, a URL, or null.
 */
export function addressedDocument<Document extends Pick<OpenApi, 'info'>>(
  made: Made,
  publicUrl: string,
  contact: string | null,
): Document {
  const url = made.servers[0]?.url as string;
  const address = JSON.stringify(publicUrl).slice(1, -1);
  const document: Document = JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
  if (contact !== null) document.info.contact = isMailAddress(contact) ? { email: contact } : { url: contact };
  return document;
}
