import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import type { PageAnswer } from '../developers/messages.ts';
import { addressedDocument } from '../docs/served.ts';
// Made when the program is built, or from source when this file is first loaded: nothing that makes it is loaded to send it.
import { manageDocument } from './document/document.ts' with { type: 'macro' };
import { DOCUMENT_PATH } from './routes.ts';

const MADE = manageDocument();

/** Answers `GET /manage/openapi.json`: the document with the server's own address and its contact. Throws `method_not_allowed`. */
export function answerDocument(
  { publicUrl, contact }: Pick<Config, 'publicUrl' | 'contact'>,
  method: string,
): PageAnswer {
  if (method !== 'GET' && method !== 'HEAD') throw new AppError('method_not_allowed');
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
      ['X-Content-Type-Options', 'nosniff'],
    ],
    body: JSON.stringify(addressedDocument(MADE, publicUrl, contact)),
    template: DOCUMENT_PATH,
    refusal: null,
    fault: null,
  };
}
