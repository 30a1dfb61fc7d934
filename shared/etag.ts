/** A strong entity tag: 132 bits of a body's SHA-256, so equal tags mean equal bodies (RFC 9110, section 8.8.3). */
export function etagOf(body: string | Uint8Array): string {
  return `"${Bun.SHA256.hash(body as Bun.StringOrBuffer, 'base64').slice(0, 22)}"`;
}
