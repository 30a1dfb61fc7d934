import type { ErrorCode } from '../../shared/errors.ts';
import { MAX_BODY_BYTES } from '../process/request-body.ts';

/** The body of a form as text, or what is wrong with it. */
export type ReadBody = { body: string | null; fault: ErrorCode | null };

/** A kind of body: the methods that have it, its type, and the refusals of another type, of one that is too long, and of one that is malformed. */
export type BodyKind = {
  methods: readonly string[];
  type: RegExp;
  other: ErrorCode;
  tooLong: ErrorCode;
  malformed: ErrorCode;
};

/** A form, as browsers send it. */
export const FORM: BodyKind = {
  methods: ['POST'],
  type: /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_a_form',
  tooLong: 'form_too_long',
  malformed: 'bad_form',
};

/** Reads the body of a form, or of another kind, which a bridge has passed on. */
export async function readBody(request: Request, kind: BodyKind): Promise<ReadBody> {
  const { method, headers } = request;
  if (!kind.methods.includes(method)) return { body: null, fault: null };
  if (!kind.type.test(headers.get('content-type') ?? '')) return { body: null, fault: kind.other };
  const bytes = await request.arrayBuffer();
  const length = Math.max(bytes.byteLength, Number(headers.get('content-length') ?? 0));
  if (length > MAX_BODY_BYTES) return { body: null, fault: kind.tooLong };
  try {
    return { body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), fault: null };
  } catch {
    return { body: null, fault: kind.malformed };
  }
}
