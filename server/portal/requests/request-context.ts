import type { Person } from '../../../shared/actor.ts';
import type { Config } from '../../../shared/config/config.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { ErrorDetails } from '../../../shared/refusal.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { Session } from '../../../shared/sign-ins/row.ts';
import type { Html } from '../../html.ts';
import type { RequestState } from '../../http/request-state.ts';
import type { PortalServices } from '../services.ts';
import type { FlashCode } from './flash.ts';
import type { FieldKinds, Form } from './form.ts';

/** What pages need to know of a request. */
export type Arrived = Pick<RequestState, 'requestId' | 'address'>;

/** A request for a page while it is being checked, as far as the page of a refusal needs it. */
export type PageState = {
  readonly config: Config;
  readonly request: Request;
  readonly requestId: string;
  /** As it was sent, percent-encoded. */
  readonly path: string;
  /** The path of its route, or {@link ANY_PAGE}. */
  readonly template: string;
  readonly params: Readonly<Record<string, string>>;
  readonly cookie: string | undefined;
  /** Whether the request has X-Forwarded-For, and so came through a proxy, although TRUSTED_PROXIES is not set. */
  readonly isBehindUnknownProxy: boolean;
  readonly client: { address: string; agent: string };
  /** Until when the request may wait for locks; see `lockDeadline`. */
  readonly waitUntilMs: number;
  /** Its entry in the table; null until it is known. */
  route: PageRoute | null;
  /** The fields of a POST, empty for GET; null until they are read. */
  form: Form | null;
  /** Null until the files are open; `unopenable` if opening them failed. */
  services: PortalServices | 'unopenable' | null;
  session: Session | null;
  /** The name of the signed-in admin, or the owner's username; empty if nobody is signed in. */
  name: string;
  flash: string | null;
};

/** A request for a page that has passed all checks, as its route receives it. */
export type PageContext = PageState & {
  readonly route: PageRoute;
  readonly form: Form;
  /** The query's parameters that the route reads; others are ignored. */
  readonly query: ReadonlyMap<string, string>;
  readonly services: PortalServices;
  readonly access: Access;
  /** The signed-in person; null if there is none, or signing in is impossible with this configuration. */
  readonly person: Person | null;
};

/** The route in the log of requests that match no page, or were refused before their page was known. */
export const ANY_PAGE = '/developers/*';

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
  /** A URL on the visitor's own machine, to which the browser goes at once. */
  redirectTo?: string;
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

/** An entry of the table of pages. */
export type PageRoute = {
  method: 'GET' | 'POST';
  path: string;
  who: 'anyone' | 'owner' | 'admin' | 'signed in';
  /** The query's parameters that the page reads, each at most once. */
  query?: readonly string[];
  fields?: FieldKinds;
  /** What is limited for each IP address, counted before anything is read from the database. */
  limit?: 'sign-ins' | 'passkeys' | 'texts';
  /** Set if `act` writes to the main database other than by `performWhenUnlocked`. */
  writesMain?: true;
  act: (context: PageContext) => Outcome | Promise<Outcome>;
};
