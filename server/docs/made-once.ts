import { etagOf } from '../../shared/etag.ts';
import type { Answer } from '../http/answers.ts';
import type { Serving } from '../http/serving.ts';

/** Everybody sees the new document within five minutes of an upgrade. */
const CACHED = 'public, max-age=300';

/** A document or a page: JSON, unless its headers say otherwise. */
export type Made = { body: string; headers?: Record<string, string> };

/** A handler whose answer depends only on the configuration. The first request loads its code, and makes and compresses it. */
export function madeOnce(serving: Serving, make: (serving: Serving) => Promise<Made>): () => Promise<Answer> {
  let made: Answer | null = null;
  return async () => {
    if (made !== null) return made;
    const { body, headers } = await make(serving);
    made = {
      body: new Blob([body]),
      etag: etagOf(body),
      headers: { ...headers, 'Cache-Control': CACHED, Vary: 'Accept-Encoding' },
      gzip: { body: new Blob([Bun.gzipSync(body)]), etag: etagOf(`gzip ${body}`) },
    };
    return made;
  };
}
