import { AppError } from '../../shared/errors.ts';

/** Codes with which a server, a proxy or the network ends a connection that was open. */
const CUT_OFF = ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ConnectionClosed'];

/**
 * The refusal for a request that got no whole answer: `try_later` where trying again can help, otherwise `refused`. `url`
 * is the server's; `isChange` tells whether the request may have changed something.
 */
export function connectionFault(url: string, isChange: boolean, patienceMs: number, error: unknown): AppError {
  const code = codeOf(error);
  const unknown = isChange ? ' Whether it did what it was asked for is not known; look before you try again.' : '';
  const later = (sentence: string) => new AppError('try_later', sentence, { cause: error });
  const never = (sentence: string) => new AppError('refused', sentence, { cause: error });
  if (code === 'TimeoutError') {
    return later(`${url} did not answer within ${patienceMs / 1000} s; try again later.${unknown}`);
  }
  if (CUT_OFF.includes(code)) {
    return later(`The connection to ${url} was cut off before the answer was there; try again.${unknown}`);
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return later(`No address is known for ${new URL(url).hostname}; check the name and the network.`);
  }
  if (/CERT|ALTNAME|ISSUER|SIGNATURE|CHAIN|SELF_SIGNED/.test(code)) {
    return never(
      `${url} has a certificate that can't be trusted (${code}); nothing was sent. Name it as its certificate does, or give the file of its authority in NODE_EXTRA_CA_CERTS.`,
    );
  }
  if (/PROXY/.test(code)) {
    return later(
      `The proxy that HTTPS_PROXY names opens no connection to ${url}; check it, or list the host in NO_PROXY.`,
    );
  }
  if (code === 'EPROTO')
    return never(`What answers on ${url} does not speak HTTPS; nothing was sent. Check the address.`);
  if (/Malformed|HTTP|Header/i.test(code))
    return never(`What answers on ${url} does not speak HTTP; check the address.`);
  return later(`No server answers on ${url} (${code}); check the address, and try again later.`);
}

/** The system's or the runtime's code of an error; the name of an error without one. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : error.name;
}
