import { afterAll, expect, test } from 'bun:test';
import { askUntilDecided } from '../../../cli/remote/decide.ts';
import { keyNamesAt } from '../../../cli/remote/key-names.ts';
import { keysAt } from '../../../cli/remote/keys.ts';
import { exitCodeOf } from '../../../shared/errors.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { cleanEnvironment, profilectlWords } from '../../support/cli.ts';
import { newDesktop } from '../../support/logins.ts';
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

test('an address that is no page of a decision is not shown', async () => {
  const others: ((url: string) => string)[] = [
    ...['file:///etc/passwd', 'calculator:', '', 7 as never].map((address) => () => address),
    () => `http://api.example.org${PAGES}k7Qm2XaB`,
    () => `https://api.example.org/away#${PAGES}../k7Qm2XaB`,
    () => `https://api.example.org/%0a\u001b[2J${PAGES}k7Qm2XaB`,
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

test('the browser is given a page of the server that was asked, and none elsewhere, which is shown only', async () => {
  const key = { identifier: 'k7Qm2XaB', state: 'pending', permissions: [], requestedPermissions: [], rateLimits: [] };
  const reject = ['keys', 'reject', key.identifier, '--reason', 'No.', '--yes'];
  // Something else on this machine, to which a look may do harm.
  for (const other of ['http://127.0.0.1:9', null]) {
    const desktop = newDesktop();
    const third = Promise.withResolvers<void>();
    let asked = 0;
    const { url, token } = serverOf((request) => {
      if (request.method === 'GET') return Response.json(key);
      if (++asked === 3) third.resolve();
      return needed(`${other ?? url}${PAGES}k7Qm2XaB`);
    });
    const child = Bun.spawn(profilectlWords([...reject, '--host', url]), {
      env: cleanEnvironment({ ...desktop.variables, PROFILECTL_TOKEN: token }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await Promise.race([third.promise, child.exited]);
    child.kill();
    expect(await new Response(child.stderr).text()).toContain(`\n${other ?? url}${PAGES}k7Qm2XaB\n`);
    if (other === null) expect(await desktop.opened()).toBe(`${url}${PAGES}k7Qm2XaB`);
    else expect(desktop.isOpened()).toBe(false);
  }
});

test('what is no key is not taken for one', async () => {
  const key = { identifier: 'k7Qm2XaB', state: 'pending', permissions: [], requestedPermissions: [], rateLimits: [] };
  for (const body of [{}, { ...key, permissions: 'all' }, { keys: [{}] }, { keys: 7 }]) {
    const { perform } = keysAt(serverOf(() => Response.json(body)));
    const asked = [perform(OPERATIONS.show, { identifier: key.identifier }), perform(OPERATIONS.list, {})];
    for (const one of asked) expect((await refusal(one)).message).toContain('not from Profile Lookup');
  }
});

/** A server that gives one page of keys after the other and says of each that another follows. */
function serverOfPages(pageAt: (place: number) => object[]) {
  let asked = 0;
  const host = serverOf(() => {
    const headers = { Link: `<https://elsewhere.example.org/keys?cursor=${asked}>; rel="next"` };
    return Response.json({ keys: pageAt(asked++), lastUses: {} }, { headers });
  });
  return { host, asked: () => asked };
}

const LISTED = { state: 'pending', permissions: [], requestedPermissions: [], rateLimits: [] };

test('a key that is decided between two pages is listed once, as it was seen last', async () => {
  const pages = [
    [{ identifier: 'decided' }, { identifier: 'waiting' }],
    // Nothing but what was known before, yet not the end.
    [{ identifier: 'decided', state: 'Active' }],
    [
      { identifier: 'older', state: 'revoked' },
      { identifier: 'decided', state: 'Active' },
    ],
    [],
  ];
  const { host, asked } = serverOfPages((place) => (pages[place] ?? []).map((key) => ({ ...LISTED, ...key })));
  const { keys } = await keysAt(host).perform(OPERATIONS.list, {});
  expect(keys.map(({ identifier, state }) => [identifier, state])).toEqual([
    ['waiting', 'pending'],
    ['decided', 'Active'],
    ['older', 'revoked'],
  ]);
  expect(asked()).toBe(4);
});

test('a list ends where a page brings nothing new, and when no honest server would have so many keys', async () => {
  const same = serverOfPages((place) => [
    { ...LISTED, identifier: 'k7Qm2XaB', state: place % 2 === 0 ? 'Active' : 'pending' },
  ]);
  const { keys } = await keysAt(same.host).perform(OPERATIONS.list, {});
  expect(keys.map(({ identifier }) => identifier)).toEqual(['k7Qm2XaB']);
  expect(same.asked()).toBe(2);
  const endless = serverOfPages((place) =>
    Array.from({ length: 10_000 }, (_, at) => ({ ...LISTED, identifier: `${place}-${at}` })),
  );
  expect((await refusal(keysAt(endless.host).perform(OPERATIONS.list, {}))).message).toContain('more than 100000');
  expect(endless.asked()).toBe(11);
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

test('the shell completes no word that is not an identifier, whatever a server calls its keys', async () => {
  const key = { identifier: 'k7Qm2XaB', state: 'Active', profile: null, name: 'Bot' };
  const others = [
    null,
    7,
    {},
    { ...key, name: 7 },
    ...['$(reboot)', 'k7Qm2Xa ', '', 7].map((identifier) => ({ ...key, identifier })),
  ];
  const host = serverOf(() => Response.json({ keys: [...others, key] }));
  expect(await keyNamesAt(host, [])).toEqual([key as never]);
});
