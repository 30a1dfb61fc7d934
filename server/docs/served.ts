import type { Config } from '../../shared/config/config.ts';
import { isMailAddress } from '../../shared/mail/address.ts';
import type { OpenApi } from './openapi/types.ts';
import made from './openapi.json';

/** A document as generated, with the default name in the title and the default URL in the licence's URL, among others. */
type Made = { info: { title: string; license: { url: string } } };

/** The settings that appear in a server's documents: its URL, its name and its contact. */
type Said = Pick<Config, 'publicUrl' | 'publicName' | 'contact'>;

const DEFAULT_NAME = 'Profile Lookup';

/** The OpenAPI document of the API as a server sends it, made from the committed openapi.json. */
export function servedDocument(config: Said): OpenApi {
  return addressedDocument(made, config);
}

/** Replaces the default URL and name in a document by the server's own, and adds its contact. */
export function addressedDocument(made: Made, { publicUrl, publicName, contact }: Said): OpenApi {
  const url = made.info.license.url.replace(/\/docs$/, '');
  const address = JSON.stringify(publicUrl).slice(1, -1);
  const document: OpenApi = JSON.parse(JSON.stringify(made).replaceAll(url, () => address));
  document.info.title = made.info.title.replace(DEFAULT_NAME, () => publicName);
  if (contact !== null) document.info.contact = isMailAddress(contact) ? { email: contact } : { url: contact };
  return document;
}
