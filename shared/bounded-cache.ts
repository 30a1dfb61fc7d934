/** A cache that holds about so many bytes at most and forgets first what was not asked for the longest. */
export type BoundedCache<K, V> = {
  get: (key: K) => V | undefined;
  /** Keeps a value that takes about so many bytes. */
  set: (key: K, value: V, bytes: number) => void;
  delete: (key: K) => void;
  clear: () => void;
};

/** What an entry takes beside its bytes: the map's slot and the objects' headers, roughly. */
const ENTRY_BYTES = 150;

/**
 * An empty cache. It has two generations: what is asked for moves to the young one; when that holds half of the bytes it
 * becomes the old one, and what is left of the old one goes. So a hit costs one look into a map, two at most.
 */
export function createBoundedCache<K, V>(maxBytes: number): BoundedCache<K, V> {
  type Entry = { value: V; bytes: number };
  let young = new Map<K, Entry>();
  let old = new Map<K, Entry>();
  let youngBytes = 0;

  function keep(key: K, entry: Entry): void {
    youngBytes += entry.bytes - (young.get(key)?.bytes ?? 0);
    young.set(key, entry);
    if (youngBytes <= maxBytes / 2) return;
    old = young;
    young = new Map();
    youngBytes = 0;
  }

  return {
    get: (key) => {
      const entry = young.get(key);
      if (entry !== undefined) return entry.value;
      const aged = old.get(key);
      if (aged === undefined) return undefined;
      old.delete(key);
      keep(key, aged);
      return aged.value;
    },
    set: (key, value, bytes) => {
      old.delete(key);
      keep(key, { value, bytes: bytes + ENTRY_BYTES });
    },
    delete: (key) => {
      youngBytes -= young.get(key)?.bytes ?? 0;
      young.delete(key);
      old.delete(key);
    },
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
