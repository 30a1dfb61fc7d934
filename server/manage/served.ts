import type { Config } from '../../shared/config/config.ts';
import type { OpenApi } from '../docs/openapi/types.ts';
import { addressedDocument } from '../docs/served.ts';
// A macro runs when the program is built, or when this file is transpiled, so that serving the document loads no builder.
import { manageDocument } from './document/document.ts' with { type: 'macro' };

const MADE = manageDocument();

/** The OpenAPI document of `/manage/v1` with the server's own URL and contact. */
export function servedManageDocument(config: Config): OpenApi {
  return addressedDocument(MADE, config);
}
