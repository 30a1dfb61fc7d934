import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import type { PageAnswer } from '../developers/messages.ts';
import made from './openapi.json';
import { DOCUMENT_PATH } from './routes.ts';

/** Answers `GET /manage/openapi.json`: the committed document with the server's own address. Throws `method_not_allowed`. */
export function answerDocument({ publicUrl }: Pick<Config, 'publicUrl'>, method: string): PageAnswer {
  if (method !== 'GET' && method !== 'HEAD') throw new AppError('method_not_allowed');
  const address = JSON.stringify(publicUrl).slice(1, -1);
  return {
    status: 200,
    headers: [
      ['Content-Type', 'application/json'],
      ['Cache-Control', 'no-store'],
      ['X-Content-Type-Options', 'nosniff'],
    ],
    body: JSON.stringify(made).replaceAll(made.servers[0]?.url as string, () => address),
    template: DOCUMENT_PATH,
    refusal: null,
    fault: null,
  };
}
