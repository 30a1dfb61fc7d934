import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { closeAccess, openAccess } from '../../../shared/sessions-file/open-access.ts';
import { DESCRIPTION } from '../../support/keys.ts';
import { enrol, signIn } from '../../support/portal/admins.ts';
import type { Authenticator } from '../../support/portal/authenticator.ts';
import { testConfig } from '../../support/world.ts';

// Owners who sign in, each from their own IP address, and request a key, and admins who approve it. Visits start at a
// constant rate, whether or not earlier ones have ended. Prints a JSON line.

/** The JSON file that it reads: the server's variables, and the visitors. */
export type VisitorsJob = {
  DATABASE_PATH: string;
  PUBLIC_URL: string;
  PORT: string;
  MAIL_URL: string;
  owners: { name: string; address: string }[];
  perSecond: number;
};

/** Its report: completed visits per second, their median time, and the errors of the others. */
export type VisitorsReport = { perSecond: number; p50Ms: number; faults: string[] };

type Owner = VisitorsJob['owners'][number];
type Admin = { cookie: string; authenticator: Authenticator };
type Fields = [name: string, value: string][];

const TIME_LIMIT_MS = 10_000;
const LOOK_EACH_MS = 20;
const FORGET_EACH = 500;
/** Enough that no admin has two decisions open at once, or too many in a minute. */
const ADMINS = 70;

const job: VisitorsJob = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const mails = job.MAIL_URL.slice('file:'.length);
/** The codes received, by e-mail address. */
const codes = new Map<string, string>();

const { DATABASE_PATH, PUBLIC_URL, MAIL_URL } = job;
const access = openAccess(testConfig({ DATABASE_PATH, PUBLIC_URL, MAIL_URL }));

/** Adds a signed-in admin with a passkey. */
async function addSignedAdmin(): Promise<Admin> {
  const authenticator = await enrol(access, `Admin ${Bun.randomUUIDv7()}`);
  return { cookie: `session=${(await signIn(access, authenticator)).token}`, authenticator };
}

/** Resets the counts of sent mails, of which a real hour allows 1 000. */
function forgetMails(): void {
  access.sessions.sqlite.run('DELETE FROM mail_counts');
}

/** Sends a request as a browser behind a proxy; with fields, sends a form. Throws if it is refused. */
async function browse(path: string, address: string, cookie: string, fields?: Fields) {
  const headers = { Cookie: cookie, 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' };
  const form = fields && {
    method: 'POST',
    body: new URLSearchParams(fields).toString(),
    headers: { ...headers, 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/x-www-form-urlencoded' },
  };
  const answer = await fetch(`http://127.0.0.1:${job.PORT}${path}`, { redirect: 'manual', headers, ...form });
  const body = await answer.text();
  if (answer.status >= 400) throw new Error(`${path} returned ${answer.status}`);
  const cookies = answer.headers.getSetCookie().map((value) => value.split(';', 1)[0]);
  return { body, cookie: cookies.join('; '), location: answer.headers.get('location') ?? '' };
}

/** One visit, from the sign-in to the decision. */
async function visit(owner: Owner, admin: Admin): Promise<void> {
  const address = `198.${18 + Math.floor(Math.random() * 2)}.${byte()}.${byte()}`;
  const asked = await browse('/developers/sign-in', address, '', [...Object.entries(owner), ['next', '']]);
  const code = await codeFor(owner.address);
  const { cookie } = await browse('/developers/sign-in/code', address, asked.cookie, [
    ['code', code],
    ['next', ''],
  ]);
  const { location } = await browse('/developers/keys/new', address, cookie, [
    ['name', 'Bench'],
    ['description', DESCRIPTION],
    ['permissions', 'api.lookup'],
    ...['projectUrl', 'expectedUsage', 'successorOf'].map((name): [string, string] => [name, '']),
  ]);
  const identifier = location.split('/').at(-1) ?? '';
  const path = `/developers/admin/keys/${identifier}`;
  const shown = await browse(path, address, admin.cookie);
  const decision: Fields = [
    ['operation', 'approve'],
    ['shown', /name="shown" value="([^"]+)"/.exec(shown.body)?.[1] ?? ''],
    ['permissions', 'api.lookup'],
    ['rateLimits', '60/1m'],
    ['expires', ''],
    ['retireOld', ''],
  ];
  const { body } = await browse(`${path}/decide`, address, admin.cookie, decision);
  await browse(`${path}/decide`, address, admin.cookie, [
    ...fieldsOn(body).filter(([name]) => name !== 'credential'),
    ['credential', admin.authenticator.assert(challengeOn(body))],
  ]);
}

const byte = () => 1 + Math.floor(Math.random() * 254);

const read = (text: string) =>
  text.replace(
    /&(amp|lt|gt|quot);/g,
    (_, name: 'amp' | 'lt' | 'gt' | 'quot') => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name],
  );

function challengeOn(page: string): string {
  return JSON.parse(read(/data-options="([^"]*)"/.exec(page)?.[1] ?? '{}')).challenge;
}

/** The hidden fields of a page's last form. */
function fieldsOn(page: string): Fields {
  const form = page.slice(page.lastIndexOf('<form', page.lastIndexOf('</main>')));
  const fields = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return [...fields].map(([, name = '', value = '']) => [name, read(value)]);
}

/** Waits for the mail with the code, which arrives after the response. Reads and deletes all mails on the way. */
async function codeFor(address: string): Promise<string> {
  const deadline = performance.now() + TIME_LIMIT_MS;
  for (;;) {
    readMails();
    const code = codes.get(address);
    if (code !== undefined) return code;
    if (performance.now() > deadline) throw new Error('a sign-in mail did not arrive');
    await Bun.sleep(LOOK_EACH_MS);
  }
}

function readMails(): void {
  for (const name of existsSync(mails) ? readdirSync(mails) : []) {
    if (!name.endsWith('.eml') || name.startsWith('.')) continue;
    const path = join(mails, name);
    const mail = name.endsWith('Z-sign-in.eml') ? readFileSync(path, 'utf8') : '';
    const [, address = ''] = /^To: (\S+)$/m.exec(mail) ?? [];
    const [code] = /^[0-9A-Z]{4}-[0-9A-Z]{4}$/m.exec(mail) ?? [];
    if (code !== undefined) codes.set(address, code);
    rmSync(path, { force: true });
  }
}

const admins: Admin[] = [];
while (admins.length < Math.min(ADMINS, job.owners.length)) admins.push(await addSignedAdmin());
const tookMs: number[] = [];
const faults: string[] = [];
const startedAt = performance.now();
const under = job.owners.map(async (owner, at) => {
  await Bun.sleep((at * 1000) / job.perSecond);
  if (at % FORGET_EACH === 0) forgetMails();
  const begunAt = performance.now();
  try {
    await visit(owner, admins[at % ADMINS] as Admin);
    tookMs.push(performance.now() - begunAt);
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
  }
});
await Promise.all(under);
closeAccess(access);
const report: VisitorsReport = {
  perSecond: tookMs.length / ((performance.now() - startedAt) / 1000),
  p50Ms: tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length / 2)] ?? 0,
  faults,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);
