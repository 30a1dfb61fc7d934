import { etagOf } from '../../shared/etag.ts';
import type { Service } from '../process/service.ts';
import type { Answer, LateAnswer } from '../request/answers.ts';
import type { Route } from '../request/chain.ts';
import { publicPath } from '../request/public-path.ts';

type Handler = NonNullable<Route['answer']>;

/** Caches may keep these answers for five minutes; so soon does everybody see the document of an updated server. */
const CACHED = 'public, max-age=300';

/**
 * `GET /openapi.json`: the OpenAPI document. It is not sent by @elysiajs/swagger (1.3.1), although that could send this
 * document: its routes would stand beside the chain, so that they had no ETag, no log line and no refusals of our kind, and
 * its page loads Scalar's latest script from a CDN without a Content-Security-Policy.
 */
export const openApi: Handler = madeOnce(async ({ deps: { config } }) => {
  const { servedDocument } = await import('../api-doc/served.ts');
  return { body: JSON.stringify(servedDocument(config.publicUrl, config.contact)) };
});

/** `GET /docs`: the OpenAPI document as a page for people. */
export const docs: Handler = madeOnce(async ({ deps: { config } }) => {
  const { docsPage } = await import('../api-doc/page/page.ts');
  const { servedDocument } = await import('../api-doc/served.ts');
  const page = docsPage(servedDocument(config.publicUrl, config.contact), publicPath(config, '/openapi.json'));
  return {
    body: page.html,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': page.contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    },
  };
});

/** `GET /`: redirects to the page. */
export function home({ deps: { config } }: Service): Answer {
  return { status: 302, body: '', headers: { Location: publicPath(config, '/docs') } };
}

/** Makes a handler whose answer depends on the configuration alone: it is made, and its code loaded, at the first request. */
function madeOnce(make: (service: Service) => Promise<LateAnswer>): Handler {
  const made = new WeakMap<Service, LateAnswer>();
  return async (service) => {
    const known = made.get(service);
    if (known !== undefined) return known;
    const { body, headers } = await make(service);
    const answer = { body, headers: { ...headers, 'Cache-Control': CACHED, ETag: etagOf(body) } };
    made.set(service, answer);
    return answer;
  };
}
