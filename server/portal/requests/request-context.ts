import type { Person } from '../../../shared/actor.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { ErrorDetails } from '../../../shared/refusal.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { Session } from '../../../shared/sign-ins/row.ts';
import type { Html } from '../../html.ts';
import type { Pages } from '../../thread/pages.ts';
import type { FlashCode } from './flash.ts';
import type { FieldKinds, Form } from './form.ts';

/** A request for a page that has passed all checks: what its route gets. */
export type PageContext = {
  readonly pages: Pages;
  readonly access: Access;
  /** The Cookie header. */
  readonly cookie: string | undefined;
  /** Whether the request has X-Forwarded-For, and so came through a proxy, although TRUSTED_PROXIES is not set. */
  readonly isBehindUnknownProxy: boolean;
  readonly client: { address: string; agent: string };
  /** The parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query's parameters that the route reads; others are ignored. */
  readonly query: ReadonlyMap<string, string>;
  /** The fields of a POST; empty for GET. */
  readonly form: Form;
  readonly session: Session | null;
  /** Who is signed in; null if nobody is, or nobody can with this configuration. */
  readonly person: Person | null;
};

/** A page to show. */
export type Page = {
  /** The beginning of the window's title. */
  title: string;
  /** The section, which follows the title, such as `API keys`. */
  where?: string;
  /** Everything in `<main>`, with its `<h1>`. */
  body: Html;
  /** The code of a refusal: sets the status, and adds "Error" to the title. */
  refusal?: ErrorCode;
  /** The details for the headers of that refusal, such as when to try again. */
  details?: ErrorDetails;
  /** The page's inline scripts; its policy allows exactly these. */
  scripts?: readonly string[];
  /** An address on the visitor's own machine, to which the browser goes at once. */
  redirectTo?: string;
};

/**
 * The result of a route: a page, or a redirect to another one, whose path does not include that of PUBLIC_URL, with a message
 * about what was done.
 */
export type Outcome = (Page | { seeOther: string; flash?: FlashCode }) & {
  /** Values of Set-Cookie headers. */
  cookies?: readonly string[];
  /** Run by {@link runInBackground} after the answer; what it throws is logged. */
  after?: (signal: AbortSignal) => void | Promise<void>;
};

/** An entry of the table of pages. */
export type PageRoute = {
  method: 'GET' | 'POST';
  /** The path's template: `/developers/keys/:identifier`. */
  path: string;
  who: 'anyone' | 'owner' | 'admin' | 'signed in';
  /** The query's parameters that the page reads; none may be repeated. */
  query?: readonly string[];
  /** The fields that the form may send. */
  fields?: FieldKinds;
  /** Set if `act` writes to the main database other than by `performWhenUnlocked`. */
  writesMain?: true;
  act: (context: PageContext) => Outcome | Promise<Outcome>;
};
