import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countLines } from '../../../../server/process/feed/lines.ts';

test('lines are counted with or without a final line feed, however they arrive, and a line or a byte too many is refused', async () => {
  const chunks = fc.array(fc.constantFrom('', 'a', '\n', 'a\n', '\n\na', 'ab\nc'), { maxLength: 12 });
  const more = fc.integer({ min: -1, max: 1 });
  await fc.assert(
    fc.asyncProperty(chunks, more, more, async (parts, moreLines, moreBytes) => {
      const text = parts.join('');
      const lines = text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0);
      const max = { lines: lines + moreLines, bytes: text.length + moreBytes };
      const counted = { lines: 0, bytes: 0 };
      const arriving = (async function* () {
        for (const part of parts) yield Buffer.from(part);
      })();
      const read = async () => {
        let passed = '';
        for await (const chunk of countLines(arriving, max, counted, () => new Error('too many'))) passed += chunk;
        return passed;
      };
      if (parts.length > 0 && (moreLines < 0 || moreBytes < 0)) await expect(read()).rejects.toThrow('too many');
      else expect([await read(), counted]).toEqual([text, { lines, bytes: text.length }]);
    }),
  );
});
