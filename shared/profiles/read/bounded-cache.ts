/** A cache that holds about so many bytes at most and forgets first what was not asked for the longest. */
export type BoundedCache<K, V> = {
  get: (key: K) => V | undefined;
  /** Keeps a value, not undefined; one that takes more than an eighth of all bytes is not kept. */
  set: (key: K, value: V) => void;
  delete: (key: K) => void;
  clear: () => void;
};

/**
 * An empty cache; `bytesOf` says about how many bytes an entry takes, which may not change. It has two generations: what is
 * asked for moves to the young one; when that holds half of the bytes it becomes the old one, and what is left of the old
 * one goes. So a hit costs one look into a map, two at most, and an entry takes no object of its own.
 */
export function createBoundedCache<K, V>(maxBytes: number, bytesOf: (key: K, value: V) => number): BoundedCache<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();
  let youngBytes = 0;

  function keep(key: K, value: V): void {
    const before = young.get(key);
    youngBytes += bytesOf(key, value) - (before === undefined ? 0 : bytesOf(key, before));
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
      keep(key, aged);
      return aged;
    },
    set: (key, value) => {
      remove(key);
      if (bytesOf(key, value) <= maxBytes / 8) keep(key, value);
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
 * Says of a number whether it comes again before another took its place among so many: what is asked for once should not
 * push out of a cache what is asked for often.
 */
export function createDoor(places: number): (number: number) => boolean {
  const door = new Float64Array(places).fill(Number.NaN);
  return (number) => {
    const place = number % places;
    if (door[place] === number) return true;
    door[place] = number;
    return false;
  };
}
