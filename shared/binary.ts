/** Whether this program runs as the binary that `cli/build.ts` makes, and not from source. */
export function isBinary(): boolean {
  return Bun.main.startsWith('/$bunfs/');
}
