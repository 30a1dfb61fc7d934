import { statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { AppError } from '../errors.ts';
import { isLoopback } from '../net.ts';

// The variables that say where the server listens and who reaches it. Each check throws `bad_config`, naming its variable.

/** Certificate and key, both files that exist. */
export type TlsFiles = { certFile: string; keyFile: string };

/** A sentence where API keys would travel over plain HTTP to this address: it is reached from elsewhere, and nothing protects it. */
export function exposureFault(at: {
  host: string;
  tls: TlsFiles | null;
  trustedProxies: BlockList | null;
}): string | null {
  if (at.tls !== null || at.trustedProxies !== null || isLoopback(at.host)) return null;
  return `HOST ${at.host} can be reached from other machines, and API keys may not travel over plain HTTP: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES where a proxy in front speaks HTTPS, or HOST=127.0.0.1.`;
}

/** An IP address or `localhost`. */
export function checkHost(text: string): string {
  if (text === 'localhost' || text === '127.0.0.1') return text;
  if (isIP(text) === 0 || text.includes('%')) throw badVariable('HOST', 'must be an IP address or localhost');
  return text;
}

/** Both files or neither. */
export function checkTls(certFile: string | null, keyFile: string | null): TlsFiles | null {
  if (certFile === null && keyFile === null) return null;
  if (certFile === null) throw badVariable('TLS_CERT_FILE', 'must be set where TLS_KEY_FILE is');
  if (keyFile === null) throw badVariable('TLS_KEY_FILE', 'must be set where TLS_CERT_FILE is');
  for (const [name, path] of [
    ['TLS_CERT_FILE', certFile],
    ['TLS_KEY_FILE', keyFile],
  ] as const) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
      throw badVariable(name, `names a file that does not exist: ${path}`);
    }
  }
  return { certFile, keyFile };
}

/** The public origin and prefix, from host and port where nothing is set and only this machine can reach them. */
export function checkPublicUrl(text: string | null, host: string, port: number, secure: boolean): string {
  if (text === null) {
    if (!isLoopback(host)) throw badVariable('PUBLIC_URL', 'must be set where HOST is not a loopback address');
    return `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
  const url = URL.parse(text);
  const plain = url !== null && !url.search && !url.hash && !url.username && !url.password;
  const prefix = url?.pathname.replace(/\/+$/, '') ?? '';
  if (!plain || !/^https?:$/.test(url.protocol) || prefix.endsWith('/api')) {
    throw badVariable('PUBLIC_URL', 'must be an http or https address without query, fragment or the final /api');
  }
  return url.origin + prefix;
}

/** The proxies whose forwarding headers count, or null where none is named. */
export function checkProxies(text: string | null): BlockList | null {
  if (text === null) return null;
  const rule = 'must be a comma-separated list of addresses or CIDR blocks, for example 127.0.0.1,10.0.0.0/8';
  const list = new BlockList();
  for (const block of text.split(',').map((part) => part.trim())) {
    const [address = '', bits, ...more] = block.split('/');
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    const length = bits === undefined ? most : Number(bits);
    if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || length > most) {
      throw badVariable('TRUSTED_PROXIES', rule);
    }
    list.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** What a bearer can carry (RFC 6750, section 2.1): any other token could never be sent. `name` is where it came from. */
export function checkToken(text: string | null, name: string): string | null {
  if (text !== null && !/^[A-Za-z0-9\-._~+/]+=*$/.test(text)) {
    const verb = name.endsWith('_FILE') ? 'must name a file of' : 'must consist of';
    throw badVariable(name, `${verb} letters, digits and - . _ ~ + /`);
  }
  return text;
}

/** The refusal of a variable's value, in one sentence that begins with its name. */
export function badVariable(name: string, rule: string): AppError {
  return new AppError('bad_config', `${name} ${rule}.`);
}
