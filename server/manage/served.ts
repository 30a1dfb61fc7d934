import type { Config } from '../../shared/config/config.ts';
import { addressedDocument } from '../docs/served.ts';
// A macro: runs when the program is built, or when this file is transpiled, so that serving the document loads no builder.
import { manageDocument } from './document/document.ts' with { type: 'macro' };
import type { JsonAnswer } from './request-context.ts';

const MADE = manageDocument();

/** The answer to `GET /manage/openapi.json`: the document with the server's own URL and contact. */
export function servedManageDocument(config: Config): JsonAnswer {
  return { body: addressedDocument(MADE, config) };
}
