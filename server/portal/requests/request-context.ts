import type { Person } from '../../../shared/actor.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { Deps } from '../../../shared/deps.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { ErrorDetails } from '../../../shared/refusals.ts';
import type { Session } from '../../../shared/sign-in/sessions.ts';
import type { Html } from '../../html.ts';
import type { RequestState } from '../../http/request-state.ts';
import type { PortalServices } from '../services.ts';
import type { FlashCode } from './answers.ts';
import type { Form, Query } from './form.ts';

/**
 * A request for a page. The plugins that it passes (guards.ts) fill in the form and who is signed in; the page of a refusal shows
 * as much of it as is known.
 */
export type PageContext = {
  readonly config: Config;
  readonly access: Deps;
  readonly services: PortalServices;
  readonly state: RequestState;
  /** As it was sent, percent-encoded. */
  readonly path: string;
  /** The path of its route, with the names of parameters. */
  readonly route: string;
  params: Readonly<Record<string, string>>;
  /** See `queryValue`. */
  readonly query: Query;
  readonly cookie: string | undefined;
  /** Whether the request has X-Forwarded-For, and so came through a proxy, although TRUSTED_PROXIES is not set. */
  readonly isBehindUnknownProxy: boolean;
  readonly client: { address: string; agent: string };
  /** Until when the request may wait for locks; see `lockDeadline`. */
  readonly waitUntilMs: number;
  /** The fields of a POST from a page of this site; otherwise empty. */
  form: Form;
  session: Session | null;
  /** The signed-in person; null if there is none, or signing in is impossible with this configuration. */
  person: Person | null;
  /** The name of the signed-in admin, or the owner's username; empty if nobody is signed in. */
  name: string;
  flash: string | null;
  /** Whom the page is for; null if it is for anyone, or that is not known yet. */
  isFor: 'owner' | 'admin' | 'both' | null;
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
};

/**
 * The result of a route: a page, or a redirect to another one, whose path does not include that of PUBLIC_URL, with a message
 * about what was done.
 */
export type Outcome = (Page | { seeOther: string; flash?: FlashCode }) & {
  /** Values of Set-Cookie headers. */
  cookies?: readonly string[];
  /** Run by {@link runInBackground} after the response; its errors are logged. */
  after?: (signal: AbortSignal) => void | Promise<void>;
};
