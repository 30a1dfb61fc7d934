import { AppError } from '../../shared/errors.ts';

/** The longest body of a form or of JSON. */
export const MAX_BODY_BYTES = 65_536;

/** A kind of body: its media type, and the refusals of other types, of bodies that are too long, and of malformed ones. */
type BodyKind = {
  type: RegExp;
  other: 'not_a_form' | 'not_json';
  tooLong: 'form_too_long' | 'body_too_long';
  malformed: AppError;
};

/** Bodies of forms, as browsers send them. */
export const FORM: BodyKind = {
  type: /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_a_form',
  tooLong: 'form_too_long',
  malformed: new AppError('bad_form'),
};

/** JSON bodies. */
export const JSON_BODY: BodyKind = {
  type: /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_json',
  tooLong: 'body_too_long',
  malformed: new AppError('bad_body', 'The body must be one JSON object in UTF-8.'),
};

/** Reads a body of this kind as UTF-8, and no more than it may have. Throws the kind's refusals. */
export async function readText(request: Request, { type, other, tooLong, malformed }: BodyKind): Promise<string> {
  const { headers, body } = request;
  if (!type.test(headers.get('content-type') ?? '')) throw new AppError(other);
  if (Number(headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw new AppError(tooLong);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    // A client that disconnects, or idles longer than the listener allows, ends the loop with an error.
    for await (const chunk of body ?? []) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MAX_BODY_BYTES) break;
    }
  } catch {
    throw malformed;
  }
  if (length > MAX_BODY_BYTES) throw new AppError(tooLong);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(chunks));
  } catch {
    throw malformed;
  }
}
