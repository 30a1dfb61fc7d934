import type { Config } from '../../shared/config/config.ts';
import { addressedDocument } from '../docs/served.ts';
// Made when the program is built, or from source when this file is first loaded: nothing that makes it is loaded to send it.
import { manageDocument } from './document/document.ts' with { type: 'macro' };
import type { Answered } from './request-context.ts';

const MADE = manageDocument();

/** The answer to `GET /manage/openapi.json`: the document with the server's own address and its contact. */
export function servedDocument(config: Config): Answered {
  return { body: addressedDocument(MADE, config) };
}
