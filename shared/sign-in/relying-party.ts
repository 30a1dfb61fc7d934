import { isIP } from 'node:net';
import { AppError } from '../errors.ts';

/** The accepted algorithms of passkeys, ES256, Ed25519 and RS256 by their COSE numbers, the preferred one first. */
export const ALGORITHMS = [-7, -8, -257] as const;

/** The site that passkeys are bound to: its host, and the origin of its pages. */
export type RelyingParty = { id: string; origin: string };

/**
 * The site that passkeys are bound to, from PUBLIC_URL. Throws `refused`, with a sentence that says what to set, if
 * browsers don't support passkeys for it.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty {
  const { protocol, hostname, origin, port } = new URL(publicUrl);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  const local = `http://localhost${port === '' ? '' : `:${port}`}`;
  if (isAddress) {
    throw new AppError(
      'refused',
      `Browsers don't support passkeys for IP addresses, and PUBLIC_URL is ${publicUrl}: set PUBLIC_URL to an https URL with a host name, or to ${local} to try it out on this machine, and restart the server.`,
    );
  }
  // Browsers trust these without HTTPS: https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) {
    throw new AppError(
      'refused',
      `Browsers support passkeys only over HTTPS, and PUBLIC_URL is ${publicUrl}: set PUBLIC_URL to the https URL of the service, and restart the server.`,
    );
  }
  return { id: hostname, origin };
}
