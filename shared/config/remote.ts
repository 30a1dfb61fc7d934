import { isLoopback } from '../net.ts';
import { isMangled, type Source } from './environment.ts';
import { badVariable, isToken, TOKEN_CHARACTERS } from './network.ts';

// The variables that name the server and token for `profilectl` on another machine. Local commands don't read them.

/** The server that PROFILECTL_HOST names, as {@link checkServerUrl} returns it; null if unset. Throws `bad_config`. */
export function remoteHost(source: Source): string | null {
  return source.PROFILECTL_HOST ? checkServerUrl('PROFILECTL_HOST', source.PROFILECTL_HOST) : null;
}

/** The token in PROFILECTL_TOKEN; null if unset. Throws `bad_config`, without repeating the token. */
export function remoteToken(source: Source): string | null {
  const token = source.PROFILECTL_TOKEN || null;
  if (token !== null && !isToken(token)) throw badVariable('PROFILECTL_TOKEN', `must consist of ${TOKEN_CHARACTERS}`);
  return token;
}

/**
 * The URL of a server: its origin with the optional prefix of its PUBLIC_URL, without a trailing slash, so that each
 * server has one name. `name` says where the text came from. Throws `bad_config`, also for plain HTTP to another
 * machine, because a token must not travel unencrypted.
 */
export function checkServerUrl(name: string, text: string): string {
  const url = URL.parse(text.trim());
  const isPlain = url !== null && !url.search && !url.hash && !url.username && !url.password && !isMangled(text);
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw badVariable(name, 'must look like https://api.example.org, without query or fragment');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    throw badVariable(name, 'must begin with https://, except for a server on this machine');
  }
  const prefix = url.pathname.replace(/\/+$/, '');
  const [, page] = /(\/(?:api|developers|manage))(?:\/|$)/.exec(prefix) ?? [];
  if (page !== undefined) throw badVariable(name, `must be the address of the server alone, without ${page}`);
  return url.origin + prefix;
}
