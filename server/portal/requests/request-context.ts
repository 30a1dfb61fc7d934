import type { Config } from '../../../shared/config/config.ts';
import type { KeyEventName } from '../../../shared/db/schema.ts';
import type { Deps } from '../../../shared/deps.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import { WITH_SECRET } from '../../../shared/keys/key.ts';
import type { ErrorDetails } from '../../../shared/refusals.ts';
import type { Client, Session, SignedInPerson } from '../../../shared/sign-in/sessions.ts';
import type { Html } from '../../html.ts';
import type { RequestState, Service } from '../../service.ts';
import type { Form } from './form.ts';

/**
 * A request for a page. The plugins that it passes (guards.ts) fill in the form and who is signed in; the page of a refusal shows
 * as much of it as is known.
 */
export type PageContext = {
  readonly request: Request;
  readonly state: RequestState;
  readonly config: Config;
  readonly deps: Deps;
  readonly service: Service;
  /** When the request arrived, in milliseconds since 1970. */
  readonly nowMs: number;
  /** As it was sent, percent-encoded. */
  readonly path: string;
  /** The path of its route, with the names of parameters. */
  readonly route: string;
  /** The URL of a path on this server: prefixes that of PUBLIC_URL. */
  readonly to: (path: string) => string;
  readonly client: Client;
  /** Until when the request may wait for locks, once its form has arrived; see `lockDeadline`. */
  waitUntilMs: number;
  /** Runs what writes once it can get the database's lock, while other requests are served; see `whenFree`. */
  readonly write: <T>(act: () => T) => Promise<T>;
  params: Readonly<Record<string, string>>;
  /** The fields of a POST from a page of this site; otherwise empty. */
  form: Form;
  session: Session | null;
  /** The signed-in person; null if there is none, or signing in is impossible with this configuration. */
  person: SignedInPerson | null;
  /** The name of the signed-in admin, or the owner's username; empty if nobody is signed in. */
  name: string;
  /** The code of the message about what the last form did. */
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

/** Messages about a form's effect, shown on the next page. They are constant, and include no values. */
export const FLASHES = {
  'signed-out': 'You are signed out.',
  'signed-out-here':
    'This browser is signed out, but the server could not record that. If somebody else may have copied your session, sign in again later and end the old session under Sessions.',
  'session-ended': 'Session ended.',
  'sessions-ended': 'All your sessions have ended.',
  'passkey-added': 'Passkey added.',
  'passkey-registered': 'Your passkey is registered: sign in with it.',
  'passkey-removed': 'Passkey removed. All your sessions have ended.',
  found: `Thank you. Any ${WITH_SECRET} key whose secret was in your text is now revoked, and its owner and the admins are notified. If there were more than ten secrets in it, paste the others.`,
} as const;

/** The code of a message: one of these, or that of an operation on keys, by its event. */
type FlashCode = keyof typeof FLASHES | `key-${KeyEventName}`;

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
