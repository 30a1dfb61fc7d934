import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  bufferedBody,
  createSendBufferMemory,
  freeSendBuffersOf,
  type Hold,
  holdBytes,
  joinSendBuffers,
  releaseHold,
  SEND_BUFFER_BYTES,
} from '../../../server/http/send-buffer-limit.ts';
import { bodyOf } from '../../../shared/profiles/lookup/body.ts';

const KEYS = [
  'k7Qm2XaB',
  'AAAAAAAA',
  'zzzzzzzz',
  '00000000',
  'b1c2d3e4',
  'Z9Y8X7W6',
  'qqqqqqqq',
  '11111111',
  '22222222',
  'x',
];

/** A model of the holds of all workers. */
type Held = { worker: number; key: string; bytes: number; hold: Hold };

test('neither a key nor all keys together exceed their limit, even when workers die', () => {
  const step = fc.record({
    act: fc.constantFrom('take', 'take', 'take', 'release', 'die'),
    worker: fc.nat(2),
    key: fc.constantFrom(...KEYS),
    bytes: fc.integer({ min: 1, max: 9 * 1024 * 1024 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const memory = createSendBufferMemory(3);
      const workers = [0, 1, 2].map((row) => joinSendBuffers(memory, row));
      let held: Held[] = [];
      const sum = (of: readonly Held[]) => of.reduce((all, { bytes }) => all + bytes, 0);
      for (const { act, worker, key, bytes } of steps) {
        const [first] = held;
        if (act === 'take') {
          const isRoom =
            sum(held.filter((one) => one.key === key)) + bytes <= SEND_BUFFER_BYTES.key &&
            sum(held) + bytes <= SEND_BUFFER_BYTES.all;
          const take = () => holdBytes(workers[worker] as (typeof workers)[number], key, bytes);
          if (isRoom) held.push({ worker, key, bytes, hold: take() });
          else expect(take).toThrow(expect.objectContaining({ code: 'busy' }));
        } else if (act === 'release' && first !== undefined) {
          releaseHold(first.hold);
          releaseHold(first.hold);
          held = held.slice(1);
        } else if (act === 'die') {
          freeSendBuffersOf(memory, worker);
          held = held.filter((one) => one.worker !== worker);
        }
      }
    }),
  );
});

test('a response has its own bytes, although the next body is composed in the same buffer before they are read', async () => {
  const buffers = joinSendBuffers(createSendBufferMemory(1), 0);
  for (const length of [10, 20_000, 340_000]) {
    const response = new Response(bufferedBody(buffers, 'k7Qm2XaB', bodyOf(['a'.repeat(length)])));
    bodyOf(['b'.repeat(length)]);
    expect((await response.text()) === 'a'.repeat(length)).toBe(true);
  }
});
