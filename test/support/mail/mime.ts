/** A message as a mail program parses it. Header names are in lower case, folded lines are joined. */
export type ReadMail = { headers: Map<string, string>; text: string };

/** Parses a message of the product: plain text in UTF-8, as it is or quoted-printable. */
export function readMail(raw: string): ReadMail {
  const message = raw.replaceAll('\r\n', '\n');
  return { headers: readHeaders(message), text: readBody(message) };
}

function readHeaders(text: string): Map<string, string> {
  const head = text.slice(0, text.indexOf('\n\n')).replace(/\n[ \t]+/g, ' ');
  return new Map(
    head.split('\n').map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
}

function readBody(part: string): string {
  const body = part.slice(part.indexOf('\n\n') + 2);
  if (readHeaders(part).get('content-transfer-encoding') !== 'quoted-printable') return body;
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
