import { expect, test } from 'bun:test';
import { join } from 'node:path';

const ROUNDS = join(import.meta.dir, 'rounds.ts');
const PRELOAD = join(import.meta.dir, 'preload.ts');

/** The rounds of 10, 1 and 100, the values drawn, the seed, and random numbers that a process with this environment gets. */
async function chanceIn(variables: Record<string, string>) {
  const program = `
    await import(${JSON.stringify(PRELOAD)});
    const { drawHalf, drawQuarter, fewRounds, rounds, SEED, seededRandom } = await import(${JSON.stringify(ROUNDS)});
    const fc = (await import('fast-check')).default;
    const own = ['one', 'other'].map((name) => seededRandom(name)());
    const drawn = [drawHalf, drawQuarter].map((draw) => draw([1, 2, 3, 4], seededRandom('drawn')));
    const counts = [10, 1, 100].map((full) => [rounds(full), fewRounds(full), fewRounds(full, 1 / 10)]);
    console.log(JSON.stringify({ drawn, counts, seed: SEED, own, sampled: fc.sample(fc.nat(), 2) }));`;
  const child = Bun.spawn([process.execPath, '-e', program], {
    cwd: import.meta.dir,
    env: { PATH: process.env.PATH ?? '', ...variables },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stderr, found: code === 0 ? JSON.parse(stdout) : null };
}

test('by default a quarter of all rounds run, or a smaller part, rounded up; TEST_ROUNDS sets another factor', async () => {
  const wanted: [variables: Record<string, string>, counts: number[][]][] = [
    [
      {},
      [
        [3, 2, 1],
        [1, 1, 1],
        [25, 13, 3],
      ],
    ],
    [
      { TEST_ROUNDS: '1' },
      [
        [10, 10, 10],
        [1, 1, 1],
        [100, 100, 100],
      ],
    ],
    [
      { TEST_ROUNDS: '0.01' },
      [
        [1, 1, 1],
        [1, 1, 1],
        [1, 1, 1],
      ],
    ],
  ];
  for (const [variables, counts] of wanted) expect((await chanceIn(variables)).found).toMatchObject({ counts });
});

test('half or a quarter of some values are drawn, and all of them with TEST_ROUNDS=1', async () => {
  const [half, quarter] = (await chanceIn({})).found.drawn;
  expect([half.length, new Set([...half, ...quarter]).size, quarter.length]).toEqual([2, 2, 1]);
  const { drawn } = (await chanceIn({ TEST_ROUNDS: '1' })).found;
  expect(drawn.map((values: number[]) => values.toSorted())).toEqual(Array(2).fill([1, 2, 3, 4]));
});

test('a printed seed repeats its random numbers, which differ by name', async () => {
  const first = await chanceIn({});
  expect(first.stderr).toBe(`TEST_SEED=${first.found.seed}\n`);
  const again = await chanceIn({ TEST_SEED: `${first.found.seed}` });
  expect(again).toEqual({ ...first, stderr: '' });
  expect(again.found.own[0]).not.toBe(again.found.own[1]);
  expect((await chanceIn({})).found.sampled).not.toEqual(first.found.sampled);
});

test('an invalid factor or seed is refused', async () => {
  for (const variables of [{ TEST_ROUNDS: '0' }, { TEST_ROUNDS: 'x' }, { TEST_SEED: '1.5' }, { TEST_SEED: 'x' }]) {
    expect((await chanceIn(variables)).code).toBe(1);
  }
});
