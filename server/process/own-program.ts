/**
 * Says that a `command` of the server's own program can't be started, for example because an upgrade has removed or moved the
 * file; `error` is what Bun.spawn threw.
 */
export function cantStart([program]: readonly string[], error: unknown): string {
  const code = (error as { code?: string }).code ?? 'unknown error';
  return `${program} can't be started (${code}). If it was moved or removed by an upgrade, restart the server.`;
}
