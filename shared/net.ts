let loaded: typeof import('node:net') | null = null;

/** `node:net`, loaded where an address has to be looked at: that takes 5 ms, and by default the server starts without. */
export function net(): typeof import('node:net') {
  loaded ??= require('node:net') as typeof import('node:net');
  return loaded;
}
