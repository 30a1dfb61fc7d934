import { createReadStream } from 'node:fs';

const LINE_FEED = 10;

/** The lines of a text file, as cheaply as possible. Each must end with a line feed. */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 }) as AsyncIterable<Buffer>) {
    const text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = text.indexOf(LINE_FEED); end !== -1; end = text.indexOf(LINE_FEED, start)) {
      yield text.toString('utf8', start, end);
      start = end + 1;
    }
    rest = Buffer.from(text.subarray(start));
  }
}
