import { AppError, type ErrorCode } from '../../shared/errors.ts';

/** The longest form; the sentence of `form_too_long` names this number. All fields of a request at their longest have 45 KB. */
export const MOST_FORM_BYTES = 65_536;

/** How many forms are read at a time. */
export const MOST_READ = 256;

/** The forms that are being read, the oldest first: each is a function that gives it up. */
export type FormsInReading = Set<() => void>;

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

/**
 * Reads the body of a form, or of another kind: at most {@link MOST_FORM_BYTES}, and nothing of one that says that it is
 * longer or of another type. Throws `too_many_pages` where it was given up: where as many as {@link MOST_READ} are being
 * read, a new one takes the place of the oldest, so that slow clients keep nobody out. The runtime ends a body that takes
 * longer than the listener's idle time.
 */
export async function readBody(
  { method, headers, body }: Request,
  reading: FormsInReading,
  kind: BodyKind = FORM,
): Promise<ReadBody> {
  if (!kind.methods.includes(method)) return { body: null, fault: null };
  if (!kind.type.test(headers.get('content-type') ?? '')) return { body: null, fault: kind.other };
  if (Number(headers.get('content-length') ?? 0) > MOST_FORM_BYTES) return { body: null, fault: kind.tooLong };
  if (body === null) return { body: '', fault: null };
  try {
    const bytes = await readInTurn(body, reading);
    if (bytes === null) return { body: null, fault: kind.tooLong };
    return { body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes), fault: null };
  } catch (error) {
    if (error instanceof AppError) throw error;
    // The client went away, was too slow, or sent bytes that are no UTF-8.
    return { body: null, fault: kind.malformed };
  }
}

/** Reads a stream like {@link readBytes}, until it is given up. */
async function readInTurn(stream: ReadableStream<Uint8Array>, reading: FormsInReading): Promise<Uint8Array | null> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const reader = stream.getReader();
  const giveUp = () => {
    reject(new AppError('too_many_pages'));
    void reader.cancel().catch(() => undefined);
  };
  if (reading.size >= MOST_READ) {
    const [oldest] = reading as Iterable<() => void>;
    oldest?.();
    if (oldest !== undefined) reading.delete(oldest);
  }
  reading.add(giveUp);
  try {
    return await Promise.race([readBytes(reader), givenUp]);
  } finally {
    reading.delete(giveUp);
  }
}

type ByteReader = {
  read: () => Promise<{ done: boolean; value?: Uint8Array | undefined }>;
  cancel: () => Promise<void>;
};

/** All bytes of a stream; null, with the rest unread, where there are too many. */
async function readBytes(reader: ByteReader): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return Buffer.concat(chunks);
    length += value.length;
    if (length > MOST_FORM_BYTES) {
      await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
}
