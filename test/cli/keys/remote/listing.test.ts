import { afterAll, expect, test } from 'bun:test';
import { remoteKeys } from '../../../../cli/keys/remote/remote-keys.ts';
import { OPERATIONS } from '../../../../shared/operations.ts';
import { KEY_ANSWER } from '../../../support/network/answers.ts';
import { refusal } from '../../../support/refusal.ts';

// `profilectl` with servers that send invalid or unusual responses about keys.

function serverOf(answer: (request: Request) => Response) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  afterAll(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, token: 'plt_not-a-token' };
}

test('a response with invalid keys is refused', async () => {
  for (const body of [{}, { ...KEY_ANSWER, permissions: 'all' }, { keys: [{}] }, { keys: 7 }]) {
    const { perform } = remoteKeys(serverOf(() => Response.json(body)));
    const asked = [perform(OPERATIONS.show, { identifier: KEY_ANSWER.identifier }), perform(OPERATIONS.list, {})];
    for (const one of asked) expect((await refusal(one)).message).toContain('not from Profile Lookup');
  }
});

test('a key that is decided on between the requests for two pages is listed once, in its later state', async () => {
  const pages = [
    [{ identifier: 'decided0' }, { identifier: 'waiting0' }],
    // A page that lists only keys of earlier pages does not end the list.
    [{ identifier: 'decided0', state: 'Active' }],
    [{ identifier: 'older000', state: 'revoked' }],
  ];
  const host = serverOf((request) => {
    const place = Number(new URL(request.url).searchParams.get('after'));
    const keys = pages[place]?.map((key) => ({ ...KEY_ANSWER, ...key }));
    const next = { Link: `<https://elsewhere.example.org/keys?after=${place + 1}>; rel="next"` };
    return Response.json({ keys, lastUses: {}, next: null }, { headers: place < 2 ? next : {} });
  });
  const { keys } = await remoteKeys(host).perform(OPERATIONS.list, {});
  expect(keys.map(({ identifier, state }) => [identifier, state])).toEqual([
    ['waiting0', 'pending'],
    ['decided0', 'Active'],
    ['older000', 'revoked'],
  ]);
});

test('a page of a list is one request, for the keys after the one that is named', async () => {
  const asked: string[] = [];
  const host = serverOf((request) => {
    asked.push(new URL(request.url).search);
    const headers = { Link: '</keys?after=other>; rel="next"' };
    return Response.json({ keys: [KEY_ANSWER], lastUses: {}, next: KEY_ANSWER.identifier }, { headers });
  });
  const page = await remoteKeys(host).perform(OPERATIONS.list, { limit: 1, after: 'k7Qm2XaB' });
  expect(page).toEqual({ keys: [KEY_ANSWER], lastUses: new Map(), next: KEY_ANSWER.identifier });
  expect(asked).toEqual(['?limit=1&after=k7Qm2XaB']);
});
