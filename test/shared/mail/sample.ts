import type { MailTarget } from '../../../shared/mail/address.ts';
import type { Mail } from '../../../shared/mail/send.ts';
import { type ApprovalNews, approvalMail } from '../../../shared/mail/texts.ts';

/** A well-formed secret that belongs to no key. */
export const SECRET = 'plk_k7Qm2XaB_TfBIVwfGdcef4v06KE3IpwOiFGkcWtf82QRPF2';

/** The sender and the recipient of every sample; neither may appear in a sentence for the admin. */
export const FROM = 'keys@profiles.example.org';
export const TO = 'ada@example.org';

/** The content of an approval mail. */
export const NEWS: ApprovalNews = {
  identifier: 'k7Qm2XaB',
  secret: SECRET,
  keyName: 'Nightly statistics',
  profile: 'Ada',
  requestedPermissions: ['api.lookup', 'api.leaderboard'],
  permissions: ['api.lookup'],
  rateLimits: [
    { quota: 60, windowSeconds: 60 },
    { quota: 5000, windowSeconds: 86_400 },
  ],
  expiresAtMs: Date.parse('2027-01-31T12:00:00Z'),
  predecessor: null,
  publicUrl: 'https://profiles.example.org',
  publicName: 'Profile Lookup',
  contact: null,
  pages: null,
};

/** An approval mail with some fields replaced. */
export function sampleMail(changes: Partial<Mail> = {}): Mail {
  return { ...approvalMail(NEWS), to: TO, ...changes };
}

/** A mail server on this machine. */
export function serverAt(port: number, changes: Partial<Extract<MailTarget, { kind: 'server' }>> = {}) {
  return { kind: 'server', host: '127.0.0.1', port, secure: false, login: null, ...changes } as const;
}

/**
 * A message of the product as a mail program parses it: plain text in UTF-8, as it is or quoted-printable. Header names are in lower
 * case, folded lines are joined.
 */
export function readMail(raw: string): { headers: Map<string, string>; text: string } {
  const message = raw.replaceAll('\r\n', '\n');
  const end = message.indexOf('\n\n');
  const fields = message
    .slice(0, end)
    .replace(/\n[ \t]+/g, ' ')
    .split('\n');
  const headers = new Map(
    fields
      .map((line) => line.split(/: (.*)/s, 2) as [string, string])
      .map(([name, value]) => [name.toLowerCase(), value]),
  );
  const body = message.slice(end + 2);
  if (headers.get('content-transfer-encoding') !== 'quoted-printable') return { headers, text: body };
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return { headers, text: Buffer.from(bytes, 'latin1').toString('utf8') };
}
