import type { Person } from '../../../shared/actor.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { ErrorDetails } from '../../../shared/refusal.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { Session } from '../../../shared/sign-ins/row.ts';
import type { Html } from '../../html.ts';
import type { Pages } from '../../thread/pages.ts';
import type { FlashCode } from './flash.ts';
import type { FieldKinds, Form } from './form.ts';

/** One request for a page, and what is known of it when its route is asked. */
export type Visit = {
  readonly pages: Pages;
  readonly access: Access;
  /** The Cookie header. */
  readonly cookie: string | undefined;
  /** Whether a proxy names its client in X-Forwarded-For although TRUSTED_PROXIES is not set. */
  readonly isForwardedUnasked: boolean;
  readonly client: { address: string; agent: string };
  /** The parts of the path that stand for the `:name`s of the route, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query's parameters that the route names; others are ignored. */
  readonly query: ReadonlyMap<string, string>;
  /** The fields of a POST; without any for GET. */
  readonly form: Form;
  readonly session: Session | null;
  /** Who is signed in; null where nobody is, or nobody may. */
  readonly person: Person | null;
};

/** A page to show. */
export type Page = {
  /** What the page is, first in the window's title. */
  title: string;
  /** Where it is, which follows, such as `API keys`. */
  where?: string;
  /** Everything in `<main>`, with its `<h1>`. */
  body: Html;
  /** Why what was sent is refused: gives the answer its status, and the title the word "Error". */
  refusal?: ErrorCode;
  /** What the headers of that refusal tell, such as when to try again. */
  details?: ErrorDetails;
  /** Texts of scripts that the page needs; the policy lets exactly these run. */
  scripts?: readonly string[];
  /** An address of this very person's machine, where the browser goes on at once. */
  goOn?: string;
};

/**
 * What a route does: shows a page, or sends the browser to another one, whose path is as in the routes, without that of
 * PUBLIC_URL, with a line that says what happened.
 */
export type Outcome = (Page | { seeOther: string; flash?: FlashCode }) & {
  /** Values of Set-Cookie headers. */
  cookies?: readonly string[];
  /** Run when the answer is sent, as {@link runInBackground} says; what it throws is logged. */
  after?: (signal: AbortSignal) => void | Promise<void>;
};

/** An entry of the table of pages. */
export type PageRoute = {
  method: 'GET' | 'POST';
  /** The path with its parameters: `/developers/keys/:identifier`. */
  path: string;
  who: 'anyone' | 'owner' | 'admin' | 'signed in';
  /** The query's parameters that the page reads; each may be given once. */
  query?: readonly string[];
  /** The fields that the form may send. */
  fields?: FieldKinds;
  /** Whether its act writes into the main database, beside what `performWhenUnlocked` does. */
  writesMain?: true;
  act: (visit: Visit) => Outcome | Promise<Outcome>;
};
