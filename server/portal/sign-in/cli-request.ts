import { AppError } from '../../../shared/errors.ts';
import { CLI_CLIENT_ID, machineName } from '../../../shared/sign-in/cli-client.ts';
import type { CliConsent } from '../../../shared/sign-in/cli-codes.ts';

// The parameters of the page /developers/cli, to which `profilectl login` leads: an authorization request of RFC 6749, section
// 4.1.1, with the code challenge of RFC 7636 and the loopback address of RFC 8252, section 7.3.

/** The parameters of the page's URL, and the fields of its form. */
export const CLI_PARAMETERS = [
  'response_type',
  'client_id',
  'redirect_uri',
  'code_challenge',
  'code_challenge_method',
  'state',
  'machine',
] as const;

/** A well-formed request. */
export type CliRequest = CliConsent & { state: string | null };

/** A loopback URL with exactly this path; matched as text, so that no URL parser can disagree. */
const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/callback$/;

const MAX_PORT = 65_535;

/** The syntax of a state: printable ASCII (RFC 6749, appendix A.5). */
const STATE = /^[ -~]{1,512}$/;

/**
 * Reads such a request; `read` returns the value of a parameter, empty if it is missing. Throws `bad_parameter` for anything
 * that `profilectl` does not send; there must be no redirect then.
 */
export function readCliRequest(read: (name: (typeof CLI_PARAMETERS)[number]) => string): CliRequest {
  if (read('response_type') !== 'code') throw malformed('response_type must be code');
  if (read('client_id') !== CLI_CLIENT_ID) throw malformed(`client_id must be ${CLI_CLIENT_ID}`);
  if (read('code_challenge_method') !== 'S256') throw malformed('code_challenge_method must be S256');
  const codeChallenge = read('code_challenge');
  if (!/^[A-Za-z0-9_-]{43}$/.test(codeChallenge)) throw malformed('code_challenge must be a SHA-256 in base64url');
  const redirectUri = read('redirect_uri');
  if (redirectUri !== '' && !isLoopback(redirectUri)) {
    throw malformed('redirect_uri must be http://127.0.0.1:<port>/callback or http://[::1]:<port>/callback');
  }
  const state = read('state');
  if (state !== '' && !STATE.test(state)) throw malformed('state must have up to 512 printable ASCII characters');
  return {
    codeChallenge,
    redirectUri: redirectUri === '' ? null : redirectUri,
    state: state === '' ? null : state,
    machine: machineName(read('machine')),
  };
}

/** The parameters of a request, for the fields of a form; absent ones are left out. */
export function cliParameters(request: CliRequest): [name: (typeof CLI_PARAMETERS)[number], value: string][] {
  const { redirectUri, state } = request;
  return [
    ['response_type', 'code'],
    ['client_id', CLI_CLIENT_ID],
    ...(redirectUri === null ? [] : [['redirect_uri', redirectUri] as ['redirect_uri', string]]),
    ['code_challenge', request.codeChallenge],
    ['code_challenge_method', 'S256'],
    ...(state === null ? [] : [['state', state] as ['state', string]]),
    ['machine', request.machine],
  ];
}

/**
 * The URL that returns the outcome to `profilectl` (RFC 6749, sections 4.1.2 and 4.1.2.1, and RFC 9207). `issuer` is
 * PUBLIC_URL.
 */
export function cliAnswer(
  redirectUri: string,
  state: string | null,
  outcome: { code: string } | { error: 'access_denied' },
  issuer: string,
): string {
  const query = new URLSearchParams({ ...outcome, ...(state !== null && { state }), iss: issuer });
  return `${redirectUri}?${query}`;
}

function isLoopback(redirectUri: string): boolean {
  const [, port] = LOOPBACK.exec(redirectUri) ?? [];
  return port !== undefined && Number(port) <= MAX_PORT;
}

function malformed(what: string): AppError {
  const sentence = `This is not a link that profilectl login prints: ${what}. Nothing was done. Run profilectl login again.`;
  return new AppError('bad_parameter', sentence);
}
