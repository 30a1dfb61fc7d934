import { isLoopback } from '../net.ts';
import { isMangled, type Source } from './environment.ts';
import { isToken, TOKEN_CHARACTERS, variableError } from './network.ts';

// The variables with the server and token for `profilectl` on another machine. Local commands don't read them.

/** The value of PROFILECTL_HOST, as {@link checkServerUrl} returns it; null if unset. Throws `bad_config`. */
export function remoteHost(source: Source): string | null {
  return source.PROFILECTL_HOST ? checkServerUrl('PROFILECTL_HOST', source.PROFILECTL_HOST) : null;
}

/** The value of PROFILECTL_TOKEN; null if unset. Throws `bad_config`, without repeating the token. */
export function remoteToken(source: Source): string | null {
  const token = source.PROFILECTL_TOKEN || null;
  if (token !== null && !isToken(token)) throw variableError('PROFILECTL_TOKEN', `must consist of ${TOKEN_CHARACTERS}`);
  return token;
}

/**
 * Normalises the base URL of a server (origin and optional prefix, without a trailing slash), so that each server has one name.
 * `name` is the variable or flag. Throws `bad_config`, also for plain HTTP to another machine, because a token must not be sent
 * unencrypted.
 */
export function checkServerUrl(name: string, text: string): string {
  const url = URL.parse(text.trim());
  const isPlain = url !== null && !url.search && !url.hash && !url.username && !url.password && !isMangled(text);
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw variableError(name, 'must look like https://api.example.org, without query or fragment');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    throw variableError(name, 'must begin with https://, except for a server on this machine');
  }
  const prefix = url.pathname.replace(/\/+$/, '');
  const [, page] = /(\/(?:api|developers|manage))(?:\/|$)/.exec(prefix) ?? [];
  if (page !== undefined) throw variableError(name, `must be the base URL of the server, without ${page}`);
  return url.origin + prefix;
}
