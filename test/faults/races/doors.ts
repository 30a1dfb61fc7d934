import { join } from 'node:path';
import { keyRevision } from '../../../shared/keys/record.ts';
import { type LineChild, startLineChild } from '../../support/commands.ts';
import { get } from '../../support/http.ts';
import { request } from '../../support/keys.ts';
import { type ServerProcess, startServerProcess } from '../../support/machine.ts';
import { sendLines, tokenFor } from '../../support/manage.ts';
import { fetchPage, hiddenIn, type SignedInAdmin, signInAdmin, signInOwner } from '../../support/pages.ts';
import { insertProfile, jsonLines } from '../../support/profiles.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

// The doors through which people and programs decide on the keys of a profile, each in its own process. It shows
// something first; the returned function confirms it.

/** The subject of a decision: a profile, its pending key, and the key to suspend. */
export type About = { id: number; name: string; pending: string; suspended: string; newAddress: string };

/** Confirms what was shown; returns `done`, or the code of the refusal. */
export type Deciding = () => Promise<string>;

/** One door of one operation: how it performs the operation. Commands run in `child`. */
export type Door = (about: About, child: LineChild) => Promise<Deciding>;

/** All operations that can race each other. */
export const OPERATIONS_RACED = ['approve', 'withdraw', 'ban', 'address', 'suspend', 'erase'] as const;

export type Raced = (typeof OPERATIONS_RACED)[number];

/** A real server and two more processes on one database, with one folder for all mails. */
export async function doorWorld() {
  const databasePath = join(tempFolder(), 'profiles.db');
  const variables = { DATABASE_PATH: databasePath, MAIL_URL: `file:${databasePath}.mail`, PUBLIC_URL: PUBLIC };
  const access = testDeps({ variables });
  const server = await startServerProcess({ ...variables, TRUSTED_PROXIES: '127.0.0.1' });
  const child = () => startLineChild(join(import.meta.dir, 'version-child.ts'), databasePath);
  const children = await Promise.all([child(), child()]);
  const admins: SignedInAdmin[] = [];
  for (let n = 0; n < ADMINS; n++) admins.push(await signInAdmin({ access }, `Admin ${n}`));
  const token = tokenFor(access, {});
  let turn = 0;
  const nextAdmin = () => admins[turn++ % ADMINS] as SignedInAdmin;
  return { access, server, children, doors: doorsOf({ access, server, nextAdmin, token }) };
}

const PUBLIC = 'http://localhost:3000';

/** Enough that no admin reaches the limit of passkey challenges. */
const ADMINS = 12;

type Parts = {
  access: ReturnType<typeof testDeps>;
  server: ServerProcess;
  nextAdmin: () => SignedInAdmin;
  token: string;
};

function doorsOf(parts: Parts): Record<Raced, Record<string, Door>> {
  /** Through a line: imported by a child, or sent to the feed. */
  const lines = (lineOf: (about: About) => object): Record<string, Door> => ({
    import: (about, child) => asked(child, `import ${JSON.stringify(lineOf(about))}`),
    feed: async (about) => () => feed(parts, lineOf(about)),
  });
  return {
    approve: {
      command: ({ pending }, child) => asked(child, `approve ${pending}`),
      page: (about) =>
        decideOnPage(parts, about.pending, [
          ['operation', 'approve'],
          ['permissions', 'api.lookup'],
          ['rateLimits', '60/1m'],
          ['expires', ''],
          ['retireOld', ''],
        ]),
      several: (about) => approveWithAnother(parts, about.pending),
    },
    withdraw: {
      command: ({ pending }, child) => asked(child, `withdraw ${pending}`),
      page: (about) => withdrawOnPage(parts, about),
    },
    ban: {
      command: ({ name }, child) => asked(child, `ban ${name}`),
      ...lines(({ id }) => ({ id, banned: true })),
    },
    address: {
      command: ({ name, newAddress }, child) => asked(child, `address ${name} ${newAddress}`),
      ...lines(({ id, newAddress }) => ({ id, email: newAddress })),
    },
    suspend: {
      // A pending key is suspended as soon as it is Active: the state at the start of the command counts.
      command: ({ pending, suspended }, child) =>
        asked(child, `${suspended === pending ? 'suspend-now' : 'suspend'} ${suspended}`),
      // The page of a pending key has no form for suspending.
      page: ({ pending, suspended }, child) =>
        suspended === pending
          ? asked(child, `suspend-now ${suspended}`)
          : decideOnPage(parts, suspended, [
              ['operation', 'suspend'],
              ['reason', 'Too fast.'],
            ]),
    },
    erase: {
      command: ({ name }, child) => asked(child, `erase ${name}`),
      ...lines(({ id }) => ({ id, deleted: true })),
    },
  };
}

/** Lets a child show the subject of a command. */
async function asked(child: LineChild, command: string): Promise<Deciding> {
  child.send(command);
  await child.next();
  return async () => {
    child.send('yes');
    return (await child.next()) ?? '';
  };
}

let addresses = 0;

/** The headers of a new visitor behind a TLS proxy. */
function client(cookie?: string): Record<string, string> {
  const [high, low] = [0xdb8 + (++addresses >>> 16), addresses & 0xffff].map((part) => part.toString(16));
  const address = `2001:${high}:${low}::1`;
  return { 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https', ...(cookie !== undefined && { cookie }) };
}

/** Sends a request with a secret on its own connection, from a new IP address. */
export function askWith(server: ServerProcess, path: string, secret: string): Promise<Response> {
  return get(server, path, secret, { headers: { Connection: 'close', ...client() } });
}

async function page(server: ServerProcess, path: string, cookie: string, form?: [string, string][]) {
  const init = form && { method: 'POST', body: new URLSearchParams(form).toString() };
  const answer = await fetchPage(server, path, { ...init, headers: client(cookie) });
  const { status, headers } = answer;
  return { status, headers: [...headers], body: await answer.text(), refusal: headers.get('x-error-code') };
}

/** Fills in a form on the page of a key as an admin. */
async function decideOnPage(
  { server, nextAdmin }: Parts,
  identifier: string,
  fields: [string, string][],
): Promise<Deciding> {
  const { cookie } = nextAdmin();
  const path = `/developers/admin/keys/${identifier}`;
  const shown = /name="shown" value="([^"]+)"/.exec((await page(server, path, cookie)).body)?.[1] ?? '';
  return async () => {
    const { status, refusal } = await page(server, `${path}/decide`, cookie, [...fields, ['shown', shown]]);
    return status === 303 ? 'done' : (refusal ?? `${status}`);
  };
}

let companions = 1_000_000;

/** Chooses a request and another one in the queue as an admin. */
async function approveWithAnother({ access, server, nextAdmin }: Parts, identifier: string): Promise<Deciding> {
  const { cookie } = nextAdmin();
  const name = `user${insertProfile(access.db, { id: ++companions, email: `companion${companions}@example.org` })}`;
  const another = await request(access, { profile: name });
  const path = '/developers/admin/decide';
  const form: [string, string][] = [['approve', '']];
  for (const one of [another, identifier])
    form.push(['chosen', one], ['shown', `${one} ${keyRevision(access.db, one)}`]);
  return async () => {
    const { status, refusal, headers } = await page(server, path, cookie, form);
    if (status !== 303) return refusal ?? `${status}`;
    const [, outcomes = ''] = headers.find(([name]) => name === 'location') ?? [];
    for (;;) {
      const { body } = await page(server, outcomes, cookie);
      const [, result, kinds = ''] = /data-result="(open|over)" data-kinds="([^"]*)"/.exec(body) ?? [];
      // Each decision is carried out by itself.
      const [ofAnother, own] = kinds.split(',');
      if (result === 'over' && ofAnother === 'mailed') return own === 'mailed' ? 'done' : 'refused';
      if (result === 'over') throw new Error(`The other request became ${ofAnother}: ${body}`);
      await Bun.sleep(10);
    }
  };
}

async function withdrawOnPage({ access, server }: Parts, { id, pending }: About): Promise<Deciding> {
  const cookie = signInOwner(access, id);
  const path = `/developers/keys/${pending}/withdraw`;
  const form = hiddenIn(await page(server, path, cookie));
  if (form.length !== 1) throw new Error('The page has no form.');
  return async () => {
    const { status, refusal, headers } = await page(server, path, cookie, form);
    const isDone = status === 303 && headers.some(([name, value]) => name === 'location' && value.endsWith(pending));
    return isDone ? 'done' : (refusal ?? 'signed_out');
  };
}

async function feed({ server, token }: Parts, line: object): Promise<string> {
  const answer = await sendLines(server, token, '?mode=merge', jsonLines(line), client());
  return answer.status === 200 ? 'done' : (answer.headers.get('x-error-code') ?? `${answer.status}`);
}
