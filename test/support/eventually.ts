/** Polls until there is a result that is neither empty nor false, for at most ten seconds, and returns it. */
export async function eventually<T>(read: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const found = await read();
    if (found) return found;
    if (performance.now() > deadline) throw new Error('This did not happen within ten seconds.');
    await Bun.sleep(10);
  }
}
