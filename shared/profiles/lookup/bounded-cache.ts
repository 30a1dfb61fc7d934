/** A cache with a limit in bytes, which evicts the least recently read entries. */
export type BoundedCache<K, V> = {
  get: (key: K) => V | undefined;
  /**
   * Adds or replaces an entry. The value may not be undefined. An entry larger than an eighth of the limit is not
   * cached.
   */
  set: (key: K, value: V) => void;
  delete: (key: K) => void;
  clear: () => void;
};

/**
 * Makes an empty cache. `bytesOf` estimates the size of an entry and must always return the same size for the same
 * entry. The cache has two generations, young and old. An entry that is read moves to the young one. When the young one
 * reaches half of `maxBytes`, it becomes the old one, and the entries left in the previous old one are dropped. So a
 * hit takes one or two lookups in a map, and the cache allocates no object for each entry.
 */
export function createBoundedCache<K, V>(maxBytes: number, bytesOf: (key: K, value: V) => number): BoundedCache<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  let youngBytes = 0;

  function add(key: K, value: V, bytes: number): void {
    youngBytes += bytes;
    young.set(key, value);
    if (youngBytes <= maxBytes / 2) return;
    old = young;
    young = new Map();
    youngBytes = 0;
  }

  function remove(key: K): void {
    const value = young.get(key);
    if (value !== undefined) youngBytes -= bytesOf(key, value);
    young.delete(key);
    old.delete(key);
  }

  return {
    get: (key) => {
      const value = young.get(key);
      if (value !== undefined) return value;
      const aged = old.get(key);
      if (aged === undefined) return undefined;
      old.delete(key);
      add(key, aged, bytesOf(key, aged));
      return aged;
    },
    set: (key, value) => {
      remove(key);
      const bytes = bytesOf(key, value);
      if (bytes <= maxBytes / 8) add(key, value, bytes);
    },
    delete: remove,
    clear: () => {
      young = new Map();
      old = new Map();
      youngBytes = 0;
    },
  };
}

/**
 * Makes an admission filter for a cache: the function returns whether the id was requested recently, and remembers it.
 * So entries that are requested only once are not cached, and don't evict frequent ones. An id is remembered until
 * another id with the same one of the `slots` slots is requested.
 */
export function createAdmissionFilter(slots: number): (id: number) => boolean {
  const lastIds = new Float64Array(slots).fill(Number.NaN);
  return (id) => {
    const slot = id % slots;
    if (lastIds[slot] === id) return true;
    lastIds[slot] = id;
    return false;
  };
}
