import { isMailAddress } from '../../shared/mail/address.ts';
import type { OpenApi } from './openapi/types.ts';
import made from './openapi.json';

/** A document as it was made: of a server at the address of the default configuration, which is in the licence's URL. */
type Made = { info: { license: { url: string } } };

/** The OpenAPI document of the API as a server sends it: {@link addressedDocument} of the committed openapi.json. */
export function servedDocument(publicUrl: string, contact: string | null = null): OpenApi {
  return addressedDocument(made, publicUrl, contact);
}

/**
 * A document in which the address of the default configuration is replaced by `publicUrl`, and to which `contact`
 * is added: whom readers may ask, an e-mail address, a URL, or null.
 */
export function addressedDocument(made: Made, publicUrl: string, contact: string | null): OpenApi {
  const url = made.info.license.url.replace(/\/docs$/, '');
  const address = JSON.stringify(publicUrl).slice(1, -1);
  const document: OpenApi = JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
  if (contact !== null) document.info.contact = isMailAddress(contact) ? { email: contact } : { url: contact };
  return document;
}
