import { Elysia } from 'elysia';
import { etagOf } from '../../shared/etag.ts';
import { type FramedPage, STYLE, TRY_PATHS } from '../frame/frame.ts';
import type { Answer } from '../http/answers.ts';
import { transport } from '../http/every-request.ts';
import { publicPath } from '../http/public-path.ts';
import type { Service } from '../service.ts';

/** The routes of the OpenAPI document and of the pages made from it. */
export function documents(service: Service) {
  const app = new Elysia({ name: 'documents' }).use(transport(service));
  for (const [path, make] of Object.entries(DOCUMENTS)) {
    app.get(path, madeOnce(service, make));
  }
  const toDocs: Answer = { status: 302, body: '', headers: { Location: publicPath(service.deps.config, '/docs') } };
  return app.get('/', () => toDocs);
}

/** Loads the code of a document when it is first asked for. */
const DOCUMENTS: Record<string, (service: Service) => Promise<Made>> = {
  '/openapi.json': async (service) => {
    const { openApiDocument } = await import('./openapi.ts');
    return { body: JSON.stringify(await openApiDocument(service)) };
  },
  '/docs': async ({ deps }) => pageAnswer((await import('./guide.ts')).guidePage(deps.config)),
  '/docs.md': async ({ deps }) => typed('markdown', (await import('./guide.ts')).guideText(deps.config)),
  [STYLE.path]: async () => typed('css', STYLE.sheet),
  [TRY_PATHS.page]: async ({ deps }) => pageAnswer(await (await import('./try-page.ts')).tryPage(deps.config)),
  [TRY_PATHS.script]: async () => typed('javascript', await (await import('./try-page.ts')).tryScript()),
  [TRY_PATHS.style]: async () => typed('css', await (await import('./try-page.ts')).tryStyle()),
};

function typed(subtype: string, body: string): Made {
  return { body, headers: { 'Content-Type': `text/${subtype}; charset=utf-8` } };
}

function pageAnswer({ html, contentSecurityPolicy }: FramedPage): Made {
  return {
    body: html,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    },
  };
}

/** Everybody sees the new document within five minutes of an upgrade. */
const CACHED = 'public, max-age=300';

/** A document or a page: JSON, unless its headers say otherwise. */
type Made = { body: string; headers?: Record<string, string> };

/**
 * A handler whose answer depends only on the configuration. The first request loads its code, and makes and compresses it, also
 * for those that arrive meanwhile.
 */
function madeOnce(service: Service, make: (service: Service) => Promise<Made>): () => Promise<Answer> {
  let making: Promise<Answer> | null = null;
  const answer = async (): Promise<Answer> => {
    const { body, headers } = await make(service);
    return {
      body: new Blob([body]),
      etag: etagOf(body),
      headers: { ...headers, 'Cache-Control': CACHED, Vary: 'Accept-Encoding' },
      gzip: { body: new Blob([Bun.gzipSync(body)]), etag: etagOf(`gzip ${body}`) },
    };
  };
  return async () => {
    making ??= answer().catch((error) => {
      making = null;
      throw error;
    });
    return making;
  };
}
