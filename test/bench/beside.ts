import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DESCRIPTION } from '../support/keys.ts';
import { lineOf, usernameOf } from './profiles.ts';
import type { Side } from './side.ts';

// What happens beside lookups: owners act on pages, and a backend sends profiles.

const EVERY_MS = 200;
const CODE_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 20;
const LINES = 10_000;
const SEND_EVERY_MS = 5_000;

/** Five actions a second for some seconds: owners request a code, sign in with it, and request a key. Returns errors. */
export async function actOnPages(side: Side, port: number, ids: Iterator<number>, seconds: number): Promise<string[]> {
  const faults: string[] = [];
  const visits: Promise<void>[] = [];
  const endAt = performance.now() + seconds * 1_000;
  while (performance.now() < endAt) {
    visits.push(requestKey(side, port, ids.next().value).catch((error) => void faults.push(String(error))));
    // Each visit is three actions.
    await Bun.sleep(3 * EVERY_MS);
  }
  await Promise.all(visits);
  return faults;
}

async function requestKey({ mails }: Side, port: number, id: number): Promise<void> {
  const email = `owner${id}@example.org`;
  const send = (path: string, cookie: string, fields: Record<string, string>) =>
    sendForm(`http://127.0.0.1:${port}${path}`, `198.18.${(id >> 8) & 255}.${id & 255}`, cookie, fields);
  const asked = { name: usernameOf(id), address: email, next: '' };
  const waiting = await send('/developers/sign-in', '', asked);
  const code = await codeFor(mails, email);
  const cookie = await send('/developers/sign-in/code', waiting, { code, next: '' });
  await send('/developers/keys/new', cookie, {
    name: 'Bench',
    description: DESCRIPTION,
    permissions: 'api.lookup',
    projectUrl: '',
    expectedUsage: '',
    successorOf: '',
  });
}

/** Sends a form as a browser does; returns the cookies of the response. Throws if it is refused. */
async function sendForm(url: string, from: string, cookie: string, fields: Record<string, string>): Promise<string> {
  const headers = { Cookie: cookie, 'X-Forwarded-For': from, 'Sec-Fetch-Site': 'same-origin' };
  const answer = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(fields), redirect: 'manual' });
  await answer.text();
  if (answer.status >= 400) throw new Error(`${url} returned ${answer.status}`);
  const cookies = answer.headers.getSetCookie().map((value) => value.split(';', 1)[0]);
  return cookies.join('; ');
}

/** Waits for the mail with an owner's code, and deletes it. */
async function codeFor(mails: string, address: string): Promise<string> {
  const deadline = performance.now() + CODE_LIMIT_MS;
  while (performance.now() < deadline) {
    for (const name of existsSync(mails) ? readdirSync(mails).filter((file) => file.endsWith('.eml')) : []) {
      const mail = readFileSync(join(mails, name), 'utf8');
      const code = /^[0-9A-Z]{4}-[0-9A-Z]{4}$/m.exec(mail)?.[0];
      if (/^To: (\S+)$/m.exec(mail)?.[1] !== address || code === undefined) continue;
      rmSync(join(mails, name), { force: true });
      return code;
    }
    await Bun.sleep(LOOK_EVERY_MS);
  }
  throw new Error('a sign-in mail did not arrive');
}

/** Sends ten thousand profiles every five seconds, in one request. Returns errors. */
export async function feed({ token }: Side, port: number, ids: readonly number[], seconds: number): Promise<string[]> {
  const faults: string[] = [];
  // Made before the lookups begin, whose client has to share its core.
  const bodies = Array.from({ length: Math.ceil((seconds * 1_000) / SEND_EVERY_MS) }, (_, version) => {
    const sent = Array.from({ length: LINES }, (_, line) => ids[line % ids.length] as number);
    return sent.map((id, line) => `${lineOf(id, version * LINES + line + 1)}\n`).join('');
  });
  let query = '';
  for (const body of bodies) {
    const nextAt = performance.now() + SEND_EVERY_MS;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/jsonl' };
    const request = { method: 'POST', headers, body };
    const post = () => fetch(`http://127.0.0.1:${port}/manage/v1/profiles${query}`, request);
    let answer = await post();
    if (answer.status === 413) {
      // Versions of before 0.1.0 ask for this.
      query = '?partial=1';
      answer = await post();
    }
    const said = await answer.text();
    if (answer.status !== 200) faults.push(`the feed got ${answer.status}: ${said.slice(0, 300)}`);
    await Bun.sleep(Math.max(0, nextAt - performance.now()));
  }
  return faults;
}
