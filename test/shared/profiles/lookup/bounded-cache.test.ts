import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createBoundedCache } from '../../../../shared/profiles/lookup/bounded-cache.ts';

test('it contains the latest values, never more than its limit, and keeps entries that were just read', () => {
  const step = fc.record({
    key: fc.nat(30),
    bytes: fc.nat(400),
    act: fc.constantFrom('set', 'get', 'delete', 'clear'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const MAX = 4_000;
      const cache = createBoundedCache<number, { bytes: number }>(MAX, (_, value) => value.bytes);
      const last = new Map<number, { bytes: number }>();
      for (const { key, bytes, act } of steps) {
        if (act === 'set') {
          const value = { bytes };
          cache.set(key, value);
          last.set(key, value);
        } else if (act === 'delete') {
          cache.delete(key);
          last.delete(key);
        } else if (act === 'clear') {
          cache.clear();
          last.clear();
        }
        const seen = cache.get(key);
        if (seen !== undefined) expect(seen).toBe(last.get(key) as { bytes: number });
        else if (act === 'set') expect(seen).toBeDefined();
      }
      const held = [...last.keys()].flatMap((key) => cache.get(key) ?? []);
      expect(held.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(MAX);
    }),
  );
});
