/** The sentence if a `command` of the server's own program can't be started; `error` was thrown by Bun.spawn. */
export function cantStart([program]: readonly string[], error: unknown): string {
  const code = (error as { code?: string }).code ?? 'unknown error';
  return `${program} can't be started (${code}). If it was moved or removed by an upgrade, restart the server.`;
}
