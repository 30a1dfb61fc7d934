let loaded: typeof import('node:net') | null = null;

/** `node:net`, loaded where an address has to be looked at: that takes 5 ms, and by default the server starts without. */
export function net(): typeof import('node:net') {
  loaded ??= require('node:net') as typeof import('node:net');
  return loaded;
}

/** Whether only this machine can reach an address: 127.0.0.0/8, ::1 or `localhost`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
