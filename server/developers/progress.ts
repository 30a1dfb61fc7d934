import type { Session } from '../../shared/access/session-row.ts';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { refuseCrossSite } from './cross-site.ts';
import { flashText } from './flash.ts';
import { type FieldKinds, type Form, readForm, readQuery } from './form.ts';
import type { Visitor } from './html/layout.ts';
import { chooseMethod, type Found, findRoutes } from './match.ts';
import type { PageRequest } from './messages.ts';
import { ANY_PAGE, type Refused } from './refusals.ts';
import { PAGE_ROUTES, SIGN_OUT_PATH } from './routes.ts';

// What is found out about a request on its way to its page, and what the answer to a refusal is made of.

/** What is known of a request on its way to its route; the answer to a refusal shows it. */
export type Progress = {
  template: string;
  found: Found | null;
  session: Session | null;
  flash: string | null;
  form: Form | null;
};

/** Nothing is known yet. */
export function newProgress(): Progress {
  return { template: ANY_PAGE, found: null, session: null, flash: null, form: null };
}

/**
 * Takes a request through the checks that need no file, in this order: who sends a form, the path, the method, the form.
 * Throws the refusal of a check that fails.
 */
export function readRequest({ publicUrl }: Config, request: PageRequest, progress: Progress) {
  const isPost = request.method === 'POST';
  if (isPost) refuseCrossSite(request.headers, publicUrl);
  const routes = findRoutes(PAGE_ROUTES, request.path);
  progress.template = (routes[0] as Found).route.path;
  progress.found = chooseMethod(routes, request.method);
  const { route, params } = progress.found;
  const form = isPost ? readFormOf(request, route.fields ?? {}) : new Map();
  progress.form = isPost ? form : null;
  return { route, params, form, isPost, query: readQuery(request.query, route.query ?? []) };
}

function readFormOf({ body, bodyFault }: PageRequest, fields: FieldKinds): Form {
  if (bodyFault === 'bad_form' || bodyFault === 'form_too_long' || bodyFault === 'not_a_form')
    throw new AppError(bodyFault);
  return readForm(body ?? '', fields);
}

/** Who sees the answer, as far as its head shows. */
export function visitorOf(request: PageRequest, { session, flash }: Progress): Visitor {
  const person = session?.person ?? null;
  return {
    kind: person?.kind ?? null,
    ...(person?.kind === 'admin' && { name: person.name }),
    flash: flashText(flash),
    path: request.path,
  };
}

/** What the page of a refusal shows. Only a form that came from this very site is offered to be sent again. */
export function refusedOf(request: PageRequest, progress: Progress): Refused {
  const { template, found } = progress;
  const fields = found?.route.fields ?? {};
  const sent = [...(progress.form ?? [])];
  const form = new Map(sent.filter(([name]) => fields[name] !== 'secret' && fields[name] !== 'used up'));
  const unseen = Object.keys(fields).filter((name) => fields[name] === 'unseen');
  const isWhole = sent.every(([name]) => fields[name] !== 'secret');
  return {
    template,
    visitor: visitorOf(request, { ...progress, flash: null }),
    signsOut: template === SIGN_OUT_PATH && progress.form !== null,
    ...(sent.length > 0 && { again: isWhole ? { path: request.path, form, unseen } : 'by going back' }),
  };
}
