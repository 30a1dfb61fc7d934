import type { Config } from '../../shared/config/config.ts';
import { isMailAddress } from '../../shared/mail/address.ts';
import type { OpenApi } from './openapi/types.ts';
import made from './openapi.json';

/** A document as it was made: of a server with the name and, in the licence's URL, the address of the default configuration. */
type Made = { info: { title: string; license: { url: string } } };

/** What a server's configuration says in its documents: its address, its name, and whom readers may ask. */
type Said = Pick<Config, 'publicUrl' | 'publicName' | 'contact'>;

const DEFAULT_NAME = 'Profile Lookup';

/** The OpenAPI document of the API as a server sends it: {@link addressedDocument} of the committed openapi.json. */
export function servedDocument(config: Said): OpenApi {
  return addressedDocument(made, config);
}

/** A document in which a server's own address and name stand instead of the default ones, and to which its contact is added. */
export function addressedDocument(made: Made, { publicUrl, publicName, contact }: Said): OpenApi {
  const url = made.info.license.url.replace(/\/docs$/, '');
  const address = JSON.stringify(publicUrl).slice(1, -1);
  const document: OpenApi = JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
  document.info.title = made.info.title.replace(DEFAULT_NAME, () => publicName);
  if (contact !== null) document.info.contact = isMailAddress(contact) ? { email: contact } : { url: contact };
  return document;
}
