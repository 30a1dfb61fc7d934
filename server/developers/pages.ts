import type { Access } from '../../shared/access/access.ts';
import type { Session } from '../../shared/access/session-row.ts';
import { noteUse, readSession } from '../../shared/access/sessions.ts';
import type { Config } from '../../shared/config/config.ts';
import { AppError, refusalOf } from '../../shared/errors.ts';
import { publicPath } from '../http/public-path.ts';
import { createThrottleMemory, joinThrottle } from '../http/throttle.ts';
import { createBackground, runInBackground, stopBackground } from './background.ts';
import { readCookie, removeCookie, setCookie, signInFault } from './cookies.ts';
import { EMPTY_POLICY, layPage } from './html/layout.ts';
import { type Found, isPagePath } from './match.ts';
import type { PageAnswer, PageRequest } from './messages.ts';
import { withNext } from './next.ts';
import { newProgress, type Progress, readRequest, refusedOf, visitorOf } from './progress.ts';
import { pageHeaders, refusePage } from './refusals.ts';
import { PAGE_ROUTES } from './routes.ts';
import type { Outcome, Page, Pages, Visit } from './visit.ts';

/** How long the line that says what a form did waits to be shown. */
const FLASH_SECONDS = 60;

/** How many sets of addresses are remembered that have sent found secrets, or have asked for tokens: 32 addresses each. */
const TRY_SETS = 64;

/** Makes what answers pages. `report` tells the log. */
export function createPages(access: Access, report: Pages['report']): Pages {
  return {
    access,
    report,
    background: createBackground(),
    isPage: (path) => isPagePath(PAGE_ROUTES, path),
    foundTexts: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    loginTries: joinThrottle(createThrottleMemory(access.random, TRY_SETS), 1, access.clock),
    isStopping: false,
  };
}

/** Finishes the work that pages have begun: 15 seconds for what is under way, then 2 to store that it was given up. */
export function stopPages(pages: Pages): Promise<void> {
  pages.isStopping = true;
  return stopBackground(pages.background);
}

/** Answers a request for a page. Never throws: whatever goes wrong is answered with a page too. */
export async function answerPage(pages: Pages, request: PageRequest): Promise<PageAnswer> {
  const progress = newProgress();
  try {
    const visit = openVisit(pages, request, progress);
    if ('seeOther' in visit) return answerOutcome(pages, request, progress, visit);
    const { act } = (progress.found as Found).route;
    return answerOutcome(pages, request, progress, await act(visit));
  } catch (error) {
    return refusePage(pages.access.config, error, refusedOf(request, progress));
  }
}

/**
 * The answer to a request that no page could be asked for, because of this error. What was typed is still there, as with
 * every other refusal. Never throws.
 */
export function refuseUnopened(config: Config, request: PageRequest, error: unknown): PageAnswer {
  const progress = newProgress();
  // Nobody has looked who is signed in.
  const refuse = (cause: unknown) => refusePage(config, cause, { ...refusedOf(request, progress), visitor: null });
  try {
    readRequest(config, request, progress);
    return refuse(error);
  } catch (refusal) {
    return refuse(refusal);
  }
}

/**
 * Takes a request through all its checks: after those of {@link readRequest}, who is signed in. Where somebody has to sign
 * in for a page, returns the way there. Throws the refusal of a check that fails.
 */
function openVisit(pages: Pages, request: PageRequest, progress: Progress): Visit | { seeOther: string } {
  const { access } = pages;
  const { config } = access;
  const { headers } = request;
  const { route, params, form, isPost, query } = readRequest(config, request, progress);
  progress.session = sessionOf(pages, request);
  progress.flash = readCookie(config, headers.cookie, 'flash');
  const person = progress.session?.person ?? null;
  if (route.who !== 'anyone' && person === null) {
    if (isPost) throw new AppError('signed_out');
    const signIn = route.who === 'admin' ? '/developers/admin/sign-in' : '/developers/sign-in';
    return { seeOther: withNext(signIn, wantedPage(pages, request.path, query)) };
  }
  if (route.who !== 'anyone' && route.who !== 'signed in' && person?.kind !== route.who)
    throw new AppError('forbidden');
  const client = { address: request.address, agent: headers['user-agent'] ?? '' };
  return { pages, access, request, client, params, query, form, session: progress.session, person };
}

/** The page that somebody asked for who has to sign in first, with those of its parameters that it reads. */
function wantedPage({ isPage }: Pages, path: string, query: Visit['query']): string {
  const pairs = [...query].flatMap(([name, value]) => (value === '' ? [] : [`${name}=${encodeURIComponent(value)}`]));
  const whole = `${path}?${pairs.join('&')}`;
  return isPage(whole) ? whole : path;
}

/** The session of the cookie; null too where nobody may sign in. Its use is noted once the page is sent. */
function sessionOf(pages: Pages, { headers, isForwardedUnasked }: PageRequest): Session | null {
  const { access, background, report } = pages;
  if (signInFault(access.config, isForwardedUnasked) !== null) return null;
  const token = readCookie(access.config, headers.cookie, 'session');
  const session = token === null ? null : readSession(access, token);
  if (session !== null) {
    const onFault = (cause: unknown) => report('warn', 'The last use of a session could not be noted.', cause);
    runInBackground(background, () => noteUse(access, session), onFault);
  }
  return session;
}

function answerOutcome(pages: Pages, request: PageRequest, progress: Progress, outcome: Outcome): PageAnswer {
  const { cookies = [], after } = outcome;
  if (after !== undefined) {
    runInBackground(pages.background, after, (cause) => pages.report('error', 'Work for a page failed.', cause));
  }
  const answer = 'seeOther' in outcome ? redirect(pages, outcome) : show(pages, request, progress, outcome);
  const { template } = progress;
  return { ...answer, headers: [...answer.headers, ...cookies.map(setCookieHeader)], template, fault: null };
}

function show(
  pages: Pages,
  request: PageRequest,
  progress: Progress,
  page: Page,
): Pick<PageAnswer, 'status' | 'headers' | 'body' | 'refusal'> {
  const { config } = pages.access;
  const { text, contentSecurityPolicy } = layPage(config, visitorOf(request, progress), page);
  const headers = pageHeaders(contentSecurityPolicy);
  if (progress.flash !== null) headers.push(setCookieHeader(removeCookie(config, 'flash')));
  if (page.refusal === undefined) return { status: 200, headers, body: text, refusal: null };
  const { status = 200, headers: headersOf } = refusalOf(page.refusal);
  headers.push(['X-Error-Code', page.refusal], ...Object.entries(headersOf?.(page.details ?? {}) ?? {}));
  return { status, headers, body: text, refusal: page.refusal };
}

function redirect(pages: Pages, { seeOther, flash }: Extract<Outcome, { seeOther: string }>) {
  const { config } = pages.access;
  const headers: PageAnswer['headers'] = [['Location', publicPath(config, seeOther)], ...pageHeaders(EMPTY_POLICY)];
  if (flash !== undefined) headers.push(setCookieHeader(setCookie(config, 'flash', flash, FLASH_SECONDS)));
  return { status: 303, headers, body: '', refusal: null };
}

function setCookieHeader(value: string): [string, string] {
  return ['Set-Cookie', value];
}
