import { isIP } from 'node:net';
import { AppError } from '../errors.ts';

/** The site that passkeys are bound to: its host, and the origin of its pages. */
export type RelyingParty = { id: string; origin: string };

/**
 * The site that passkeys are bound to, from PUBLIC_URL. Throws `refused`, saying what to set, if browsers support none
 * for it.
 */
export function relyingPartyOf(publicUrl: string): RelyingParty {
  const { protocol, hostname, origin, port } = new URL(publicUrl);
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
  const local = `http://localhost${port === '' ? '' : `:${port}`}`;
  if (isAddress) {
    throw new AppError(
      'refused',
      `Browsers create no passkeys for an IP address, and PUBLIC_URL is ${publicUrl}: set PUBLIC_URL to an https address with a host name, or to ${local} to try it out on this machine, and restart the server.`,
    );
  }
  // Browsers trust these without HTTPS: https://w3c.github.io/webappsec-secure-contexts/#is-origin-trustworthy
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (protocol !== 'https:' && !isLocal) {
    throw new AppError(
      'refused',
      `Browsers create passkeys over HTTPS only, and PUBLIC_URL is ${publicUrl}: set PUBLIC_URL to the https address of the service, and restart the server.`,
    );
  }
  return { id: hostname, origin };
}
