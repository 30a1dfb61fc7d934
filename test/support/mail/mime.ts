/** A message as a mail program parses it. Header names are in lower case, folded lines are joined. */
export type ReadMail = { headers: Map<string, string>; text: string; html: string | null };

/** Parses a message of the product: multipart/alternative of 7bit or quoted-printable UTF-8. */
export function readMail(raw: string): ReadMail {
  const message = raw.replaceAll('\r\n', '\n');
  const headers = readHeaders(message);
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1];
  const parts = message.split(`\n--${boundary}`).slice(1, -1);
  const part = (type: string) => {
    const found = parts.find((text) => readHeaders(text.slice(1)).get('content-type')?.startsWith(type));
    return found === undefined ? null : readBody(found.slice(1));
  };
  return { headers, text: part('text/plain') ?? '', html: part('text/html') };
}

function readHeaders(text: string): Map<string, string> {
  const head = text.slice(0, text.indexOf('\n\n')).replace(/\n[ \t]+/g, ' ');
  return new Map(
    head.split('\n').map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
}

function readBody(part: string): string {
  const body = part.slice(part.indexOf('\n\n') + 2);
  if (readHeaders(part).get('content-transfer-encoding') === '7bit') return body;
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
