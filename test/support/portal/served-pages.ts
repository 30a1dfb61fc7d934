import { basename, join } from 'node:path';
import type { TestServer } from '../http.ts';
import { namesOfIdentifiers, recordingIn } from '../recorded.ts';
import { type Changes, filledIn } from './forms.ts';
import { type OwnerWorld, ownerWorld } from './owner-pages.ts';
import { fetchPage, serverOfPages } from './pages.ts';
import { readable } from './readable.ts';

// Pages of a real server, over HTTP.

/** A response with its whole body. */
export type Answer = {
  status: number;
  /** The code of the refusal, or null. */
  refusal: string | null;
  location: string | null;
  cookies: string[];
  headers: Headers;
  body: string;
  /** Of the identifiers in its database, for recording. */
  names: ReturnType<typeof namesOfIdentifiers>;
};

/** What a form sends. */
export type Form = Record<string, string> | [name: string, value: string][];

/** A server with the owners Ada and Bea, whose clock stands still. */
export type ServedPages = OwnerWorld & {
  server: TestServer;
  get: (path: string, cookie?: string, headers?: Record<string, string>) => Promise<Answer>;
  /** Sends a form as a page of this site does. */
  post: (path: string, form: Form, cookie?: string, headers?: Record<string, string>) => Promise<Answer>;
  /** The whole log so far, as text. */
  logged: () => string;
  /** Sends the form of a page that has this button, with these changes of its fields. */
  press: (page: Answer, button: string, changes?: Changes, cookie?: string) => Promise<Answer>;
};

/** Starts a server on a new database. */
export async function servePages(variables: Record<string, string> = {}): Promise<ServedPages> {
  const world = await ownerWorld({ PUBLIC_URL: 'http://localhost:3000', ...variables });
  const server = await serverOfPages(world);
  const names = namesOfIdentifiers(world.access.db);
  const ask = async (path: string, init: RequestInit, cookie?: string, headers?: Record<string, string>) => {
    const answer = await fetchPage(server, path, { ...init, headers: { ...(cookie && { cookie }), ...headers } });
    return {
      status: answer.status,
      refusal: answer.headers.get('x-error-code'),
      location: answer.headers.get('location'),
      cookies: answer.headers.getSetCookie(),
      headers: answer.headers,
      body: await answer.text(),
      names,
    };
  };
  const post: ServedPages['post'] = (path, form, cookie, headers) =>
    ask(path, { method: 'POST', body: new URLSearchParams(form).toString() }, cookie, headers);
  return {
    ...world,
    server,
    post,
    logged: () => JSON.stringify([server.log, world.events]),
    press: (page, button, changes, cookie) => {
      const { action, form } = filledIn(page.body, button, changes);
      return post(action, form, cookie);
    },
    get: (path, cookie, headers) => ask(path, {}, cookie, headers),
  };
}

/** All rows of these tables, and which mails were stored; a server sends these at some time. */
export function storedIn(db: ServedPages['access']['db'], tables: readonly string[]): string {
  const rows = tables.map((table) => db.$client.query(`SELECT * FROM ${table}`).all());
  return JSON.stringify([...rows, db.$client.query('SELECT id, identifier, kind FROM mails').all()]);
}

/**
 * Returns a function that compares what a person sees of a response with what is recorded under a title in the folder `recorded`
 * beside the test file. `part` is `body` for the page with its head and foot.
 */
export function pageRecorder(testFile: string) {
  const record = recordingIn(join(testFile, '../recorded', `${basename(testFile, '.test.ts')}.txt`));
  return (title: string, answer: Answer, part: 'main' | 'body' = 'main'): void => {
    const { status, refusal, location, body, names } = answer;
    const head = [status, ...(refusal === null ? [] : [refusal]), ...(location === null ? [] : [`to ${location}`])];
    const page = body.includes('<main') ? `\n${readable(body, part)}` : '';
    const stable = page
      .replace(/\/(sessions|passkeys)\/[\w-]+(?=\/)/g, '/$1/<number>')
      .replace(/127\.0\.0\.1:\d{4,}/g, '127.0.0.1:<port>');
    record(title, names.hide(`${head.join(' ')}${stable}`));
  };
}
