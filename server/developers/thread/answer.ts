import type { Config } from '../../../shared/config/config.ts';
import { answerCall } from '../../manage/answer.ts';
import { FEED_PATH } from '../../manage/operations/profiles.ts';
import { refuseCall } from '../../manage/refusals.ts';
import { LOGIN_ROUTES } from '../../manage/routes.ts';
import { ARRIVED_HEADERS, ROUTE_HEADER } from '../../process/portal-bridge.ts';
import { type BodyKind, FORM, readBody } from '../body.ts';
import type { PageAnswer, PageRequest } from '../messages.ts';
import { answerPage, refuseUnopened } from '../pages.ts';
import type { Pages } from '../visit.ts';

/** What answering takes: the configuration, what opens the files, and what tells the log. */
export type Answering = { config: Config; open: () => Pages; report: Pages['report'] };

/** Answers whatever the portal is asked: pages, and JSON under `/manage`. Never throws. */
export async function answerRequest({ config, open, report }: Answering, request: Request): Promise<Response> {
  const asked = await pageRequestOf(config, request);
  const { status, headers, body, template, fault, feed } = await answerOf(config, open, asked);
  if (fault !== null) report('error', 'A request failed.', fault, asked.requestId);
  const answer = new Response(feed === undefined ? body : JSON.stringify(feed), { status, headers });
  answer.headers.set(ROUTE_HEADER, template);
  if (feed !== undefined) answer.headers.set('x-feed', '1');
  return answer;
}

/** Answers a request that the portal's thread has not answered, because of this error, as that thread would refuse it. */
export function refuseUnanswered(
  config: Config,
  report: Answering['report'],
  request: Request,
  error: unknown,
): Promise<Response> {
  const open = () => {
    throw error;
  };
  return answerRequest({ config, open, report }, request);
}

async function answerOf(config: Config, open: () => Pages, asked: PageRequest): Promise<PageAnswer> {
  let pages: Pages;
  try {
    pages = open();
  } catch (error) {
    return isCall(asked) ? refuseCall(error) : refuseUnopened(config, asked, error);
  }
  return isCall(asked) ? answerCall(pages, asked) : answerPage(pages, asked);
}

async function pageRequestOf(config: Config, request: Request): Promise<PageRequest> {
  const { method, url, headers } = request;
  const target = url.slice(url.indexOf('/', url.indexOf('//') + 2));
  const [path = '', ...rest] = target.split('?');
  const { body, fault } = path === FEED_PATH ? { body: null, fault: null } : await readBody(request, kindOf(path));
  return {
    method,
    path,
    query: rest.join('?'),
    headers: Object.fromEntries(headers),
    body,
    bodyFault: fault,
    address: headers.get(ARRIVED_HEADERS.address) ?? '',
    isForwardedUnasked: config.trustedProxies === null && headers.has('x-forwarded-for'),
    requestId: headers.get(ARRIVED_HEADERS.requestId) ?? '',
  };
}

function kindOf(path: string): BodyKind {
  return !path.startsWith('/manage/') || LOGIN_ROUTES.some((route) => route.path === path) ? FORM : JSON_BODY;
}

const JSON_BODY: BodyKind = {
  methods: ['POST', 'PATCH'],
  type: /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
  other: 'not_json',
  tooLong: 'body_too_long',
  malformed: 'bad_body',
};

function isCall({ path }: PageRequest): boolean {
  return path === '/manage' || path.startsWith('/manage/');
}
