import type { OpenApi, Operation, Reference } from './types.ts';

/** The prefix of the API's paths, which ends the base URL of its document. */
export const API_PREFIX = '/api';

/** The URL of the server that a document of the API describes, without `/api` and without a trailing slash. */
export function serverUrl({ servers }: Pick<OpenApi, 'servers'>): string {
  return (servers[0]?.url ?? '').slice(0, -API_PREFIX.length);
}

/** The operations of the API's document, with their paths below {@link serverUrl}. */
export function readOperations({ paths }: Pick<OpenApi, 'paths'>): { path: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, { get, servers }]) =>
    get === undefined ? [] : [{ path: servers === undefined ? API_PREFIX + path : path, operation: get }],
  );
}

/** Resolves a reference within the document; returns anything else unchanged. */
export function resolved<T extends object>(document: OpenApi, item: T | Reference): T {
  if (!('$ref' in item)) return item;
  const parts = (item.$ref as string).split('/').slice(1);
  return parts.reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], document) as T;
}
