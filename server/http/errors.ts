import type { z } from 'zod';
import type { ErrorBody } from '../../shared/api/bodies.ts';
import { AppError, DOCUMENTED_CODES, type ErrorCode, refusalOf } from '../../shared/errors.ts';

/** Every status that a refused request can have, in ascending order. */
export const ERROR_STATUSES: readonly number[] = [
  ...new Set(DOCUMENTED_CODES.map((code) => refusalOf(code).status as number)),
].sort((a, b) => a - b);

/** A refusal as clients receive it. */
export type PublicRefusal = {
  code: ErrorCode;
  status: number;
  body: z.infer<typeof ErrorBody>;
  /** The headers that only some refusals have. */
  headers: Record<string, string> | undefined;
};

/** The part of an error that clients may see, also used for the OpenAPI document. */
export function publicRefusal({ code, message, details }: AppError): PublicRefusal {
  const { status, sentence = '', isSentenceFixed, headers } = refusalOf(code);
  if (status === undefined) return publicRefusal(INTERNAL);
  const error = isSentenceFixed && !details.isForClient ? sentence : message;
  return { code, status, body: { error }, headers: headers?.(details) };
}

const INTERNAL = new AppError('internal');
