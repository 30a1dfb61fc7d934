import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { addressedDocument } from '../api-doc/served.ts';
import type { PageAnswer } from '../developers/messages.ts';
import made from './openapi.json';
import { DOCUMENT_PATH } from './routes.ts';

/** Answers `GET /manage/openapi.json`: the committed document with the server's own address and its contact. Throws `method_not_allowed`. */
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
    body: JSON.stringify(addressedDocument(made, publicUrl, contact)),
    template: DOCUMENT_PATH,
    refusal: null,
    fault: null,
  };
}
