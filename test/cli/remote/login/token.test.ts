import { afterAll, expect, test } from 'bun:test';
import { identityText, readIdentity } from '../../../../cli/remote/login/token.ts';
import { refusal } from '../../../support/refusal.ts';

const ENDS_AT = '2099-01-01T00:00:00.000Z';

/** A server that reports this expiry for every token. */
function serverSaying(endsAt: string): string {
  const body = { kind: 'owner', name: 'ada', token: 'k7Qm2XaB', endsAt, profile: 'ada' };
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(body) });
  afterAll(() => server.stop(true));
  return `http://127.0.0.1:${server.port}`;
}

test('the expiry of a token is printed only if it is an ISO 8601 time', async () => {
  const ask = (endsAt: string) => readIdentity({ url: serverSaying(endsAt), token: 'plt_not-a-token' });
  expect(identityText(await ask(ENDS_AT))).toBe(`ada (owner), until ${ENDS_AT} at the latest`);
  // Date.parse would accept the second one.
  for (const endsAt of ['soon', 'Thu, 01 Jan 2099 00:00:00 GMT (\nLogged in elsewhere.)']) {
    expect(await refusal(ask(endsAt))).toMatchObject({ code: 'refused' });
  }
});
