import { afterAll, expect, test } from 'bun:test';
import { keyNamesAt } from '../../../cli/remote/key-names.ts';
import { keysAt } from '../../../cli/remote/keys.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { refusal } from '../../support/refusal.ts';

// Servers whose answers about keys are not those of ours.

function serverOf(answer: (request: Request) => Response) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  afterAll(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, token: 'plt_not-a-token' };
}

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
