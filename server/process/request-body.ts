import { AppError } from '../../shared/errors.ts';
import { MAX_FORM_BYTES } from '../thread/forwarded.ts';

/** How many bodies may be read at once. */
export const MAX_READING = 256;

/** The bodies that are being read, the oldest first; each is a function that aborts the reading. */
export type Reading = Set<() => void>;

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Reads a body; null if there is none or its Content-Length exceeds the limit. A longer body without a Content-Length is
 * truncated one byte past the limit. If {@link MAX_READING} are being read, the oldest is aborted and throws `too_many_pages`,
 * so that slow clients can't block others. Throws `bad_form` if the client disconnected, or idled longer than the listener
 * allows.
 */
export async function readBody({ method, headers, body }: Request, reading: Reading): Promise<Bytes | null> {
  if (body === null || method === 'GET' || method === 'HEAD') return null;
  if (Number(headers.get('content-length') ?? 0) > MAX_FORM_BYTES) return null;
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const reader = body.getReader();
  const giveUp = () => {
    reject(new AppError('too_many_pages'));
    void reader.cancel().catch(() => undefined);
  };
  if (reading.size >= MAX_READING) {
    const [oldest] = reading as Iterable<() => void>;
    oldest?.();
    if (oldest !== undefined) reading.delete(oldest);
  }
  reading.add(giveUp);
  try {
    return await Promise.race([readBytes(reader), givenUp]);
  } catch (error) {
    throw error instanceof AppError ? error : new AppError('bad_form');
  } finally {
    reading.delete(giveUp);
  }
}

async function readBytes(reader: Pick<ReadableStreamDefaultReader<Uint8Array>, 'read' | 'cancel'>): Promise<Bytes> {
  const chunks: Uint8Array[] = [];
  for (let length = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks);
    chunks.push(value);
    length += value.length;
    if (length <= MAX_FORM_BYTES) continue;
    await reader.cancel();
    return Buffer.concat(chunks, MAX_FORM_BYTES + 1);
  }
}
