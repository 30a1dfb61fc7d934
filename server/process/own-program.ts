/**
 * A sentence that says that a command of the server's own program can't be started, as where an upgrade has removed or moved
 * that file: `words` are the command's, `error` is what starting it threw.
 */
export function cantStart([program]: readonly string[], error: unknown): string {
  const code = (error as { code?: string }).code ?? 'unknown error';
  return `${program} can't be started (${code}). If it was moved or removed by an upgrade, restart the server.`;
}
