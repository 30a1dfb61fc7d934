/** A number of lines and of bytes: counted so far, or allowed. */
export type Counted = { lines: number; bytes: number };

const LF = 0x0a;

/** Yields a body's chunks and adds them to `counted`; throws the error of `onTooMany` once they exceed `max`. */
export async function* countLines(
  body: AsyncIterable<Uint8Array>,
  max: Counted,
  counted: Counted,
  onTooMany: () => Error,
): AsyncGenerator<Uint8Array> {
  let isLineOpen = false;
  for await (const chunk of body) {
    counted.bytes += chunk.length;
    let ended = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) ended++;
    counted.lines += ended;
    if (chunk.length > 0) isLineOpen = chunk[chunk.length - 1] !== LF;
    if (counted.bytes > max.bytes || counted.lines + (isLineOpen ? 1 : 0) > max.lines) throw onTooMany();
    yield chunk;
  }
  // The last line may end without a line feed.
  if (isLineOpen) counted.lines++;
}

/** Reads a whole body into memory. */
export async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
