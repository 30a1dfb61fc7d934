import { etagOf } from '../../shared/etag.ts';
import type { Answer, KeptAnswer } from '../http/answers.ts';
import type { Route } from '../http/chain.ts';
import { publicPath } from '../http/public-path.ts';
import type { Service } from '../process/service.ts';
import type { Page } from './page/page.ts';
import { TRY_PATHS } from './try/paths.ts';

type Handler = NonNullable<Route['answer']>;

/** Caches may keep these answers for five minutes; so soon does everybody see the document of an updated server. */
const CACHED = 'public, max-age=300';

/** `GET /openapi.json`: the OpenAPI document. */
export const openApi: Handler = madeOnce(async ({ deps: { config } }) => {
  const { servedDocument } = await import('./served.ts');
  return { body: JSON.stringify(servedDocument(config.publicUrl, config.contact)) };
});

/** `GET /docs`: the OpenAPI document as a page for people. */
export const docs: Handler = madeOnce(async ({ deps: { config } }) => {
  const { docsPage } = await import('./page/page.ts');
  const { servedDocument } = await import('./served.ts');
  const links = { document: publicPath(config, '/openapi.json'), tryIt: config.publicUrl + TRY_PATHS.page };
  return pageAnswer(docsPage(servedDocument(config.publicUrl, config.contact), links));
});

/** `GET /docs/try`: a page for sending requests with a key of one's own. */
export const tryIt: Handler = madeOnce(async ({ deps: { config } }) => {
  const { tryPage } = await import('./try/try-page.ts');
  return pageAnswer(await tryPage(config));
});

/** The script of that page. */
export const tryItScript: Handler = madeOnce(async () => {
  const { tryScript } = await import('./try/try-page.ts');
  return { body: await tryScript(), headers: { 'Content-Type': 'text/javascript; charset=utf-8' } };
});

/** The style sheet of that page. */
export const tryItStyle: Handler = madeOnce(async () => {
  const { tryStyle } = await import('./try/try-page.ts');
  return { body: await tryStyle(), headers: { 'Content-Type': 'text/css; charset=utf-8' } };
});

/** `GET /`: redirects to the page. */
export function home({ deps: { config } }: Service): Answer {
  return { status: 302, body: '', headers: { Location: publicPath(config, '/docs') } };
}

function pageAnswer({ html, contentSecurityPolicy }: Page): Made {
  return {
    body: html,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    },
  };
}

type Made = { body: string; headers?: Record<string, string> };

/**
 * Makes a handler whose answer depends on the configuration alone: it is made, compressed, and its code loaded, at the first
 * request.
 */
function madeOnce(make: (service: Service) => Promise<Made>): Handler {
  const made = new WeakMap<Service, KeptAnswer>();
  return async (service) => {
    const known = made.get(service);
    if (known !== undefined) return known;
    const { body, headers } = await make(service);
    const answer = {
      body: new Blob([body]),
      etag: etagOf(body),
      headers: { ...headers, 'Cache-Control': CACHED, Vary: 'Accept-Encoding' },
      gzip: { body: new Blob([Bun.gzipSync(body)]), etag: etagOf(`gzip ${body}`) },
    };
    made.set(service, answer);
    return answer;
  };
}
