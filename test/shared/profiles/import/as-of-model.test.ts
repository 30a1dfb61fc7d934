import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { DAY_MS } from '../../../../shared/clock.ts';
import { eraseProfile } from '../../../../shared/erasure.ts';
import { policyOf } from '../../../../shared/profiles/import/feed-policy.ts';
import { addBackend } from '../../../support/people.ts';
import { changeByHand, exportText, importLines } from '../../../support/profiles.ts';
import { rounds } from '../../../support/rounds.ts';
import { onBox, testClock, testDeps } from '../../../support/world.ts';

// Files, feeds and commands in any order, compared with a model that defines --as-of in the simplest way.

type Line = { id: number; deleted?: true; viewsCount?: number; banned?: boolean };

type Step =
  | { kind: 'wait'; ms: number }
  | { kind: 'ban'; id: number }
  | { kind: 'erase'; id: number }
  | { kind: 'set'; id: number; viewsCount: number }
  | { kind: 'file' | 'feed'; lines: Line[]; agoMs: number | null; merge: boolean; strict: boolean; prune: boolean };

type Held = { viewsCount: number; banned: boolean; writtenAtMs: number };

type Model = { profiles: Map<number, Held>; erasedAt: Map<number, number> };

/** Applies an import to the model; returns its counts. */
function importInModel(
  { profiles, erasedAt }: Model,
  { kind, lines, merge, prune }: Extract<Step, { lines: Line[] }>,
  { nowMs, asOfMs }: { nowMs: number; asOfMs: number | null },
) {
  const isNewer = (atMs = 0) => asOfMs !== null && atMs > asOfMs && atMs <= nowMs;
  const writtenAtMs = asOfMs ?? nowMs;
  const confirms = kind === 'feed' || asOfMs !== null;
  const counts = { imported: 0, deleted: 0, notThere: 0, pruned: 0, newer: 0, newerIds: new Set<number>() };
  const erase = (id: number): void => {
    profiles.delete(id);
    erasedAt.set(id, Math.max(writtenAtMs, erasedAt.get(id) ?? 0));
  };
  for (const { id, deleted, ...fields } of lines) {
    const held = profiles.get(id);
    if (isNewer(held?.writtenAtMs) || (!deleted && isNewer(erasedAt.get(id)))) {
      counts.newer++;
      counts.newerIds.add(id);
    } else if (deleted) {
      if (held !== undefined || confirms) erase(id);
      counts[held === undefined ? 'notThere' : 'deleted']++;
    } else {
      const base = { viewsCount: merge ? (held?.viewsCount ?? 0) : 0, banned: held?.banned ?? false };
      const next = { ...base, ...fields };
      const isSame = held !== undefined && held.viewsCount === next.viewsCount && held.banned === next.banned;
      profiles.set(id, { ...next, writtenAtMs: isSame && !confirms ? held.writtenAtMs : writtenAtMs });
      counts.imported++;
    }
  }
  if (prune) {
    const named = new Set(lines.map(({ id }) => id));
    for (const [id, held] of profiles) {
      if (named.has(id) || isNewer(held.writtenAtMs)) continue;
      erase(id);
      counts.pruned++;
    }
  }
  return { ...counts, newerIds: [...counts.newerIds] };
}

const id = fc.integer({ min: 1, max: 4 });
const viewsCount = fc.integer({ min: 0, max: 3 });
const line: fc.Arbitrary<Line> = fc.oneof(
  { arbitrary: fc.record({ id, viewsCount, banned: fc.boolean() }, { requiredKeys: ['id'] }), weight: 5 },
  { arbitrary: fc.record({ id, deleted: fc.constant(true as const) }), weight: 1 },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 1_000, DAY_MS) }),
  fc.record({ kind: fc.constant('ban' as const), id }),
  fc.record({ kind: fc.constant('erase' as const), id }),
  fc.record({ kind: fc.constant('set' as const), id, viewsCount }),
  {
    arbitrary: fc.record({
      kind: fc.constantFrom('file' as const, 'feed' as const),
      lines: fc.array(line, { minLength: 1, maxLength: 5 }),
      agoMs: fc.constantFrom(null, 0, 1, 500, 1_000, 1_001, 2_000, DAY_MS, 2 * DAY_MS),
      merge: fc.boolean(),
      strict: fc.boolean(),
      prune: fc.boolean(),
    }),
    weight: 4,
  },
);

test('a file with --as-of changes exactly the profiles that were not written or erased since, whatever happened before', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 14, size: '+1' }), async (steps) => {
      const clock = testClock();
      const deps = testDeps({ clock });
      const identifier = addBackend(deps).identifier;
      const model: Model = { profiles: new Map(), erasedAt: new Map() };
      for (const step of steps) {
        const nowMs = clock.nowMs();
        if (step.kind === 'wait') clock.advance(step.ms);
        else if ('lines' in step) {
          const asOfMs = step.agoMs === null ? null : nowMs - step.agoMs;
          const by = step.kind === 'feed' ? ({ kind: 'backend', name: 'backend' } as const) : onBox('operator');
          const policy = policyOf({ identifier, excludesContactFields: false });
          const lines = step.lines.map((one) => (one.deleted ? one : { username: `user${one.id}`, ...one }));
          const { imported, deleted, pruned, newer, details, refused } = await importLines(deps, lines, {
            by,
            merge: step.merge,
            strict: step.strict,
            ...(asOfMs !== null && { asOfMs }),
            ...(step.kind === 'feed' && { policy }),
            ...(step.prune && { prune: { limitPercent: 100, confirm: async () => true } }),
          });
          const { notThere, newerIds } = details;
          const done = { imported, deleted, notThere, pruned, newer, newerIds };
          expect([done, refused]).toEqual([importInModel(model, step, { nowMs, asOfMs }), []]);
        } else {
          const held = model.profiles.get(step.id);
          if (held === undefined) continue;
          if (step.kind === 'erase') {
            eraseProfile(deps, step.id, onBox('operator'));
            model.profiles.delete(step.id);
            model.erasedAt.set(step.id, nowMs);
          } else {
            const change = step.kind === 'ban' ? { banned: true } : { viewsCount: step.viewsCount };
            changeByHand(deps, `user${step.id}`, change);
            model.profiles.set(step.id, { ...held, ...change, writtenAtMs: nowMs });
          }
        }
      }
      const exported = Bun.JSONL.parse(await exportText(deps)) as { id: number; viewsCount: number; banned: boolean }[];
      const stored = exported.map(({ id, viewsCount, banned }) => [id, viewsCount, banned]);
      const wanted = [...model.profiles].map(([id, { viewsCount, banned }]) => [id, viewsCount, banned]);
      expect(stored as unknown[]).toEqual(wanted.sort(([a], [b]) => Number(a) - Number(b)));
      deps.db.$client.close();
    }),
    { numRuns: rounds(20) },
  );
}, 120_000);
