let loaded: typeof import('node:net') | null = null;

/** `node:net`, loaded on first use: loading takes 5 ms, and a server with default settings does not need it. */
export function net(): typeof import('node:net') {
  loaded ??= require('node:net') as typeof import('node:net');
  return loaded;
}

/** True if only this machine can reach the host: 127.0.0.0/8, ::1 or `localhost`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
