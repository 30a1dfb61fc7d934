import { beforeEach, describe, expect, test } from 'bun:test';
import * as oauth from 'oauth4webapi';
import { FAILURES } from '../../../server/http/throttle.ts';
import { settleBackground } from '../../../server/thread/background.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import { readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { hiddenIn } from '../../support/portal/admin-pages.ts';
import {
  cliPath,
  consentTo,
  exchangeForm,
  goOnIn,
  REDIRECT_URI,
  sendLogin,
  VERIFIER,
} from '../../support/portal/login.ts';
import { call, expectRefused, tokenFor } from '../../support/portal/manage.ts';
import { ownerWorld } from '../../support/portal/owner-pages.ts';
import { serverOfPages, visit } from '../../support/portal/pages.ts';
import { noteSecretsIn } from '../../support/secret-search.ts';

// A personal token, from the code to its end, over a real socket: with a third-party client, and with every refused request.

const world = await ownerWorld();
const { access, clock, cookie } = world;
const server = await serverOfPages(world);

// A minute for each test, because requests are throttled.
beforeEach(() => clock.advance(61_000));

const tokenOf = async (answer: Response) => ((await answer.json()) as { access_token: string }).access_token;
const me = async (token: string) => (await call(server, '/manage/v1/me', token)).status;

/** Expects a refusal as in RFC 6749, section 5.2; returns its sentence. */
async function expectOAuthError(answer: Response, status: number, code: ErrorCode): Promise<string> {
  const body = (await answer.json()) as { error: string; error_description: string };
  expect([answer.status, body.error, answer.headers.get('x-error-code')]).toEqual([status, code, code]);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  // The characters that section 5.2 allows.
  expect(body.error_description).toMatch(/^[ !#-[\]-~]+[.]$/);
  return body.error_description;
}

describe('the third-party client oauth4webapi', () => {
  const as: oauth.AuthorizationServer = {
    issuer: access.config.publicUrl,
    token_endpoint: `${server.url}/manage/v1/token`,
    revocation_endpoint: `${server.url}/manage/v1/revoke`,
    authorization_response_iss_parameter_supported: true,
  };
  const client: oauth.Client = { client_id: 'profilectl' };
  const options = { [oauth.allowInsecureRequests]: true };

  /** The URL to which the browser is redirected after the person's decision. */
  async function askBy(decision: string, verifier: string, state: string): Promise<URL> {
    const path = cliPath({ code_challenge: await oauth.calculatePKCECodeChallenge(verifier), state });
    const page = await visit(world, path, { cookie });
    const { body } = await visit(world, '/developers/cli', {
      form: [...hiddenIn(page), ['decision', decision]],
      cookie,
    });
    return goOnIn(body) as URL;
  }

  async function exchange(back: URL, state: string, verifier: string) {
    const parameters = oauth.validateAuthResponse(as, client, back, state);
    const none = oauth.None();
    const answer = await oauth.authorizationCodeGrantRequest(
      ...[as, client, none, parameters, REDIRECT_URI, verifier, options],
    );
    noteSecretsIn(await answer.clone().text());
    return oauth.processAuthorizationCodeResponse(as, client, answer);
  }

  test('gets a token by PKCE, uses it, and revokes it', async () => {
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
    const back = await askBy('allow', verifier, state);
    expect(back.origin + back.pathname).toBe(REDIRECT_URI);
    const made = await exchange(back, state, verifier);
    expect(made).toEqual({
      access_token: expect.stringMatching(/^plt_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/),
      token_type: 'bearer',
      expires_in: 90 * 86_400,
    });
    const response = await oauth.protectedResourceRequest(
      ...[made.access_token, 'GET', new URL(`${server.url}/manage/v1/me`), undefined, undefined, options],
    );
    expect(await response.json()).toMatchObject({ kind: 'owner', name: 'ada' });
    for (let times = 0; times < 2; times++) {
      const answer = await oauth.revocationRequest(as, client, oauth.None(), made.access_token, options);
      expect(await oauth.processRevocationResponse(answer)).toBeUndefined();
      expect(await me(made.access_token)).toBe(401);
    }
  });

  test('is notified if the person denies access, and rejects a wrong state or issuer', async () => {
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
    const refused = await askBy('refuse', verifier, state);
    expect(Object.fromEntries(refused.searchParams)).toEqual({ error: 'access_denied', state, iss: as.issuer });
    expect(() => oauth.validateAuthResponse(as, client, refused, state)).toThrow(oauth.AuthorizationResponseError);
    const back = await askBy('allow', verifier, state);
    expect(() => oauth.validateAuthResponse(as, client, back, 'another')).toThrow();
    const other = { ...as, issuer: 'https://evil.example' };
    expect(() => oauth.validateAuthResponse(other, client, back, state)).toThrow();
  });

  test('is refused with another verifier, by an error that it can parse', async () => {
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
    const back = await askBy('allow', verifier, state);
    const other = exchange(back, state, oauth.generateRandomCodeVerifier());
    expect(await other.catch((error) => error)).toMatchObject({ error: 'invalid_grant', status: 400 });
    // The right verifier still works: somebody who intercepts a code can't use it up.
    expect(await exchange(back, state, verifier)).toMatchObject({ token_type: 'bearer' });
  });
});

describe('POST /manage/v1/token', () => {
  test('responds as in RFC 6749, section 5.1; the list of logins and the mail have the machine and its IP address', async () => {
    const answer = await sendLogin(server, 'token', exchangeForm(await consentTo(world, cookie)));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect([answer.headers.get('cache-control'), answer.headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    const token = await tokenOf(answer);
    expect(readSignIn(access, 'profilectl', token)).toMatchObject({
      machine: 'laptop',
      person: { kind: 'owner', profileId: 7 },
    });
    const { body } = await visit(world, '/developers/sessions', { cookie });
    expect(body).toMatch(
      /profilectl on <bdi>laptop<\/bdi><\/strong>, allowed <time[^>]+>[^<]+<\/time> from 127\.0\.0\.1/,
    );
    await settleBackground(world.services.background);
    const notices = access.db.$client.query("SELECT body FROM mails WHERE kind = 'new-sign-in'").values();
    expect(notices.at(-1)?.[0]).toMatch(/127\.0\.0\.1(?:.|\n)*profilectl on laptop/);
  });

  test('accepts a typed code, without a redirect_uri, in any spelling', async () => {
    const code = await consentTo(world, cookie, { redirect_uri: null, state: null });
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
    const { redirect_uri: _none, ...form } = exchangeForm(code.toLowerCase().replace('-', ' '));
    await expectOAuthError(await sendLogin(server, 'token', { ...form, code: 'short' }), 400, 'invalid_grant');
    expect((await sendLogin(server, 'token', form)).status).toBe(200);
  });

  test('refuses missing, repeated and malformed parameters', async () => {
    const form = exchangeForm(await consentTo(world, cookie));
    const without = (name: string) => Object.entries(form).filter(([one]) => one !== name);
    const refused: [Record<string, string> | [string, string][] | string, RegExp][] = [
      [without('grant_type'), /grant_type is missing/],
      [{ ...form, grant_type: '' }, /grant_type is missing/],
      [without('code'), /code is missing/],
      [{ ...form, code: '' }, /code is missing/],
      [without('code_verifier'), /code_verifier is missing/],
      [{ ...form, code_verifier: 'v'.repeat(42) }, /43 to 128/],
      [{ ...form, code_verifier: 'v'.repeat(129) }, /43 to 128/],
      [{ ...form, code_verifier: `${VERIFIER}!` }, /43 to 128/],
      [[...Object.entries(form), ['code', form.code as string]], /only once/],
      [[...Object.entries(form), ['client_id', 'profilectl']], /only once/],
      ['code=%zz', /percent-encoded/],
      ['code=%ff', /percent-encoded/],
      ['', /client_id/],
    ];
    for (const [sent, sentence] of refused) {
      const answer = await sendLogin(server, 'token', sent);
      const isClient = sent === '';
      const code = isClient ? 'invalid_client' : 'invalid_request';
      expect(await expectOAuthError(answer, isClient ? 401 : 400, code)).toMatch(sentence);
    }
    const json = await sendLogin(server, 'token', '{}', { 'Content-Type': 'application/json' });
    expect(await expectOAuthError(json, 400, 'invalid_request')).toContain('a form');
    const long = await sendLogin(server, 'token', { ...form, more: 'x'.repeat(65_536) });
    expect(await expectOAuthError(long, 400, 'invalid_request')).toContain('64 KiB');
    // Unknown parameters are ignored, and none of the refused requests used the code up.
    expect((await sendLogin(server, 'token', { ...form, scope: 'all', resource: 'x' })).status).toBe(200);
  });

  test('refuses other grants and clients', async () => {
    const form = exchangeForm(await consentTo(world, cookie));
    for (const grant_type of ['password', 'client_credentials', 'refresh_token', 'authorization_code ']) {
      const answer = await sendLogin(server, 'token', { ...form, grant_type });
      await expectOAuthError(answer, 400, 'unsupported_grant_type');
    }
    for (const client_id of ['', 'Profilectl', 'other']) {
      const answer = await sendLogin(server, 'token', { ...form, client_id });
      expect(answer.headers.get('www-authenticate')).toBe('Basic realm="profile-lookup"');
      await expectOAuthError(answer, 401, 'invalid_client');
    }
    const basic = { Authorization: `Basic ${btoa('profilectl:')}` };
    await expectOAuthError(await sendLogin(server, 'token', form, basic), 401, 'invalid_client');
    expect((await sendLogin(server, 'token', form, { Authorization: 'Bearer whatever' })).status).toBe(200);
  });

  test('refuses another verifier, redirect_uri or code, with the same response for all', async () => {
    const code = await consentTo(world, cookie);
    const wrong = [
      exchangeForm(code, { code_verifier: 'w'.repeat(43) }),
      // The challenge itself, as with the method "plain".
      exchangeForm(code, { code_verifier: new URLSearchParams(cliPath()).get('code_challenge') as string }),
      exchangeForm(code, { redirect_uri: REDIRECT_URI.replace('4711', '4712') }),
      exchangeForm(code, { redirect_uri: `${REDIRECT_URI}/` }),
      exchangeForm(code, { redirect_uri: '' }),
      exchangeForm(code.toLowerCase()),
      exchangeForm(`${code} `),
      exchangeForm('x'),
    ];
    const sentences = new Set<string>();
    for (const form of wrong) {
      sentences.add(await expectOAuthError(await sendLogin(server, 'token', form), 400, 'invalid_grant'));
    }
    expect(sentences.size).toBe(1);
    expect((await sendLogin(server, 'token', exchangeForm(code))).status).toBe(200);
  });

  test('using a code a second time revokes its token', async () => {
    const form = exchangeForm(await consentTo(world, cookie));
    const token = await tokenOf(await sendLogin(server, 'token', form));
    expect(await me(token)).toBe(200);
    await expectOAuthError(await sendLogin(server, 'token', form), 400, 'invalid_grant');
    expect(await me(token)).toBe(401);
  });
});

describe('POST /manage/v1/revoke', () => {
  const revoke = (form: Record<string, string>, headers = {}) =>
    sendLogin(server, 'revoke', { client_id: 'profilectl', ...form }, headers);

  test('revokes only the token that is sent, and responds the same for an unknown one', async () => {
    const tokens: string[] = [];
    for (let count = 0; count < 2; count++) {
      tokens.push(await tokenOf(await sendLogin(server, 'token', exchangeForm(await consentTo(world, cookie)))));
    }
    const [ended, other] = tokens as [string, string];
    for (const token of [ended, ended, 'plt_nothing', `${other.slice(0, -1)}~`, 'a text']) {
      const answer = await revoke({ token, token_type_hint: 'refresh_token' });
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    }
    expect([await me(ended), await me(other)]).toEqual([401, 200]);
  });

  test('does not revoke a backend’s token', async () => {
    const token = tokenFor(access);
    await expectOAuthError(await revoke({ token }), 400, 'unsupported_token_type');
    expect(await me(token)).toBe(200);
  });

  test('refuses a request without a token, with two tokens, and from another client', async () => {
    await expectOAuthError(await revoke({}), 400, 'invalid_request');
    await expectOAuthError(await revoke({ token: '' }), 400, 'invalid_request');
    await expectOAuthError(
      await sendLogin(server, 'revoke', 'client_id=profilectl&token=a&token=b'),
      ...([400, 'invalid_request'] as const),
    );
    await expectOAuthError(await sendLogin(server, 'revoke', { token: 'a' }), 401, 'invalid_client');
    await expectOAuthError(await revoke({ token: 'a', client_id: 'other' }), 401, 'invalid_client');
    await expectOAuthError(await revoke({ token: 'a' }, { 'Content-Type': 'text/plain' }), 400, 'invalid_request');
  });
});

test('an IP address has 30 requests a minute for both paths together, and both accept only POST', async () => {
  for (let sent = 0; sent < FAILURES.quota; sent++) {
    const path = sent % 2 === 0 ? 'token' : 'revoke';
    expect((await sendLogin(server, path, { client_id: 'profilectl', token: 'a' })).status).not.toBe(429);
  }
  for (const path of ['token', 'revoke'] as const) {
    const late = await sendLogin(server, path, exchangeForm('a'));
    expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0);
    await expectRefused(late, 429, 'too_many_failures');
    for (const method of ['GET', 'PUT', 'PATCH']) {
      const other = await call(server, `/manage/v1/${path}`, null, { method });
      expect(other.headers.get('allow')).toBe('POST');
      await expectRefused(other, 405, 'method_not_allowed');
    }
  }
  clock.advance(61_000);
  expect((await sendLogin(server, 'revoke', { client_id: 'profilectl', token: 'a' })).status).toBe(200);
});

test('the log has no code, no token, and no other text that was sent', async () => {
  const form = exchangeForm(await consentTo(world, cookie));
  const token = await tokenOf(await sendLogin(server, 'token', form));
  await sendLogin(server, 'revoke', { client_id: 'profilectl', token });
  const routes = server.log.slice(-2).map(({ route, status }) => [route, status]);
  expect(routes).toEqual([
    ['/manage/v1/token', 200],
    ['/manage/v1/revoke', 200],
  ]);
  const log = JSON.stringify(server.log);
  for (const secret of [form.code as string, VERIFIER, 'plt_', '4711']) expect(log).not.toContain(secret);
});
