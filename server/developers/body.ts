import type { ErrorCode } from '../../shared/errors.ts';

/** The longest form; the sentence of `form_too_long` names this number. All fields of a request at their longest have 45 KB. */
export const MOST_FORM_BYTES = 65_536;

/** The body of a form as text, or what is wrong with it. */
export type ReadBody = { body: string | null; fault: ErrorCode | null };

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Reads the body of a form: at most {@link MOST_FORM_BYTES}, and nothing of one that says that it is longer or is no form.
 * Never throws. The runtime ends a body that takes longer than the listener's idle time.
 */
export async function readBody({ method, headers, body }: Request): Promise<ReadBody> {
  if (method !== 'POST') return { body: null, fault: null };
  if (!FORM_TYPE.test(headers.get('content-type') ?? '')) return { body: null, fault: 'not_a_form' };
  if (Number(headers.get('content-length') ?? 0) > MOST_FORM_BYTES) return { body: null, fault: 'form_too_long' };
  if (body === null) return { body: '', fault: null };
  try {
    const bytes = await readBytes(body);
    if (bytes === null) return { body: null, fault: 'form_too_long' };
    return { body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), fault: null };
  } catch {
    // The client went away, was too slow, or sent bytes that are no UTF-8.
    return { body: null, fault: 'bad_form' };
  }
}

/** All bytes of a stream; null, with the rest unread, where there are too many. */
async function readBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    length += value.length;
    if (length > MOST_FORM_BYTES) {
      await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
}
