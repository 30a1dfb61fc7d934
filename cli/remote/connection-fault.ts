import { AppError } from '../../shared/errors.ts';

/** The error codes of a connection that the server, a proxy or the network has closed. */
const CUT_OFF = ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'ConnectionClosed'];

/**
 * The error for a request without a complete response: `try_later` if trying again can help, otherwise `refused`. `isChange`
 * says whether the request may have changed something.
 */
export function connectionFault(url: string, isChange: boolean, patienceMs: number, error: unknown): AppError {
  const code = codeOf(error);
  const unknown = isChange ? ' The request may have been carried out; check before you try again.' : '';
  const later = (sentence: string) => new AppError('try_later', sentence, { cause: error });
  const never = (sentence: string) => new AppError('refused', sentence, { cause: error });
  if (code === 'TimeoutError') {
    return later(`${url} did not answer within ${patienceMs / 1000} s; try again later.${unknown}`);
  }
  if (CUT_OFF.includes(code)) {
    return later(`The connection to ${url} was closed before the response arrived; try again.${unknown}`);
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return later(`The host name ${new URL(url).hostname} can't be resolved; check the name and the network.`);
  }
  if (/CERT|ALTNAME|ISSUER|SIGNATURE|CHAIN|SELF_SIGNED/.test(code)) {
    return never(
      `The certificate of ${url} can't be trusted (${code}); nothing was sent. Use the host name in the certificate, or set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority.`,
    );
  }
  if (/PROXY/.test(code)) {
    return later(`The proxy in HTTPS_PROXY can't connect to ${url}; check it, or list the host in NO_PROXY.`);
  }
  if (code === 'EPROTO') return never(`The server at ${url} does not speak HTTPS; nothing was sent. Check the URL.`);
  if (/Malformed|HTTP|Header/i.test(code)) return never(`The server at ${url} does not speak HTTP; check the URL.`);
  return later(`No server is responding at ${url} (${code}); check the URL, and try again later.`);
}

/** The error's code from the system or the runtime, or its name if it has none. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const code = 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : error.name;
}
