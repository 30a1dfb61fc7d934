import type { Config } from '../../shared/config/config.ts';
import { isMailAddress } from '../../shared/mail/address.ts';
import type { OpenApi } from './openapi/types.ts';
import made from './openapi.json';

/** A generated document, which has the default URL in several places, such as the URL of the licence. */
type Generated = { info: { title: string; license: { url: string } } };

/** The settings that appear in a server's documents. */
type Identity = Pick<Config, 'publicUrl' | 'publicName' | 'contact'>;

const DEFAULT_NAME = 'Profile Lookup';

/** The OpenAPI document of the API as served: the committed openapi.json with the server's own URL, name and contact. */
export function servedDocument(config: Identity): OpenApi {
  return addressedDocument(made, config);
}

/** Replaces the default URL and name in a document with the server's own, and adds its contact. */
export function addressedDocument(generated: Generated, { publicUrl, publicName, contact }: Identity): OpenApi {
  const defaultUrl = generated.info.license.url.replace(/\/docs$/, '');
  const escaped = JSON.stringify(publicUrl).slice(1, -1);
  const document: OpenApi = JSON.parse(JSON.stringify(generated).replaceAll(defaultUrl, () => escaped));
  document.info.title = generated.info.title.replace(DEFAULT_NAME, () => publicName);
  if (contact !== null) document.info.contact = isMailAddress(contact) ? { email: contact } : { url: contact };
  return document;
}
