import { afterAll, expect, test } from 'bun:test';
import { askUntilDecided } from '../../../cli/remote/decide.ts';
import { keysAt } from '../../../cli/remote/keys.ts';
import { exitCodeOf } from '../../../shared/errors.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { refusal } from '../../support/refusal.ts';

// Servers whose answers about keys and decisions are not those of ours.

const QUESTION = { method: 'POST', path: '/keys/k7Qm2XaB/reject', json: { reason: 'No.' } } as const;

/** Where decisions have their pages. */
const PAGES = '/developers/cli/decisions/';

function serverOf(answer: (request: Request) => Response) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  afterAll(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, token: 'plt_not-a-token' };
}

/** An answer that a decision is needed at this address. */
const needed = (address: string) =>
  Response.json({ error: 'Needed.', address }, { status: 403, headers: { 'X-Error-Code': 'decision_needed' } });

/** What was said, and the refusal, where a request waits for its decision. */
async function waitAt(answer: (url: string) => Response, signal = new AbortController().signal) {
  const said: string[] = [];
  const during = { say: (text: string) => void said.push(text.replaceAll(host.url, '<server>')), signal };
  const host = serverOf(() => answer(host.url));
  const { code, message } = await refusal(askUntilDecided(host, QUESTION, during));
  return { said, exitCode: exitCodeOf(code), message };
}

test('a decision whose five minutes are over is told, and not the next one waited for', async () => {
  let asked = 0;
  const { said, exitCode, message } = await waitAt((url) => needed(`${url}${PAGES}k7Qm2Xa${asked++ > 1 ? 'C' : 'B'}`));
  expect([exitCode, message]).toEqual([
    75,
    'Nobody has decided on that page within five minutes; nothing was changed.',
  ]);
  expect(said).toEqual([
    'Your passkey is needed for this. Open this page within five minutes, and decide there:\n<server>/developers/cli/decisions/k7Qm2XaB',
  ]);
});

test('nothing is asked any more after Ctrl-C', async () => {
  const stopping = new AbortController();
  let asked = 0;
  const answer = (url: string) => {
    asked++;
    stopping.abort();
    return needed(`${url}${PAGES}k7Qm2XaB`);
  };
  expect((await waitAt(answer, stopping.signal)).exitCode).toBe(130);
  expect(asked).toBe(1);
});

test('a page is shown and opened only where it is one of this server’s decisions', async () => {
  const others: ((url: string) => string)[] = [
    ...['file:///etc/passwd', 'calculator:', '', 7 as never].map((address) => () => address),
    () => `https://api.example.org${PAGES}k7Qm2XaB`,
    // Something else that listens on this machine, where a look may be enough to do harm.
    () => `http://127.0.0.1:631${PAGES}k7Qm2XaB`,
    (url) => `${url}@evil.example${PAGES}k7Qm2XaB`,
    (url) => `${url}/developers/sign-out`,
    (url) => `${url}${PAGES}../../../away`,
    (url) => `${url}${PAGES}k7Qm2XaB?more`,
    (url) => `${url}${PAGES}k7Qm2XaB\n`,
  ];
  for (const addressAt of others) {
    const { said, exitCode, message } = await waitAt((url) => needed(addressAt(url)));
    expect([said, exitCode]).toEqual([[], 1]);
    expect(message).toContain('not from Profile Lookup');
  }
});

test('what is no key is not taken for one, nor pages without an end for a list', async () => {
  const key = { identifier: 'k7Qm2XaB', state: 'pending', permissions: [], requestedPermissions: [], rateLimits: [] };
  for (const body of [{}, { ...key, permissions: 'all' }, { keys: [{}] }, { keys: 7 }]) {
    const { perform } = keysAt(serverOf(() => Response.json(body)));
    const asked = [perform(OPERATIONS.show, { identifier: key.identifier }), perform(OPERATIONS.list, {})];
    for (const one of asked) expect((await refusal(one)).message).toContain('not from Profile Lookup');
  }
  const link = { Link: '<https://elsewhere.example.org/manage/v1/keys?cursor=again>; rel="next"' };
  const { perform } = keysAt(serverOf(() => Response.json({ keys: [key] }, { headers: link })));
  expect((await refusal(perform(OPERATIONS.list, {}))).message).toContain('not from Profile Lookup');
});

test('a list is asked for page by page, at the server that was named', async () => {
  const key = { state: 'pending', permissions: [], requestedPermissions: [], rateLimits: [] };
  const asked: string[] = [];
  const host = serverOf((request) => {
    const { search } = new URL(request.url);
    asked.push(search);
    const isLast = search.includes('cursor');
    const headers = isLast
      ? {}
      : { Link: '<https://elsewhere.example.org/keys?state=pending&cursor=a%2Bb>; rel="next"' };
    return Response.json({ keys: [{ ...key, identifier: isLast ? 'two' : 'one' }], lastUses: {} }, { headers });
  });
  const { keys } = await keysAt(host).perform(OPERATIONS.list, { states: ['pending', 'Active'] });
  expect(keys.map(({ identifier }) => identifier)).toEqual(['one', 'two']);
  expect(asked).toEqual(['?state=pending%2CActive', '?state=pending%2CActive&cursor=a%2Bb']);
});
