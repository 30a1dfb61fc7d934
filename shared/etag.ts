/** A strong entity tag: 132 bits of a text's SHA-256, so equal tags mean equal texts (RFC 9110, section 8.8.3). */
export function etagOf(text: string): string {
  return `"${Bun.SHA256.hash(text, 'base64').slice(0, 22)}"`;
}
