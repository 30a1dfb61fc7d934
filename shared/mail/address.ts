const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const ADDRESS = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})*$`);

/**
 * Whether a string is exactly one plain e-mail address, as defined by `type=email` of the HTML standard, of at most 254 characters
 * (RFC 5321, 4.5.3.1). Display names, quotes, comments, lists, spaces and line breaks are refused: they could add a header or a
 * second recipient.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && ADDRESS.test(text);
}

/** Whether two addresses are the same for this service, which ignores the case of ASCII letters. */
export function isSameAddress(one: string | null, other: string | null): boolean {
  if (one === other) return true;
  return one !== null && other !== null && foldAddress(one) === foldAddress(other);
}

/** The form in which addresses are compared and hashed. */
export function foldAddress(address: string): string {
  return address.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Where mail goes: a folder, to try the program out, or a mail server. `secure` is TLS from the first byte (smtps). */
export type MailTarget =
  | { kind: 'folder'; folder: string }
  | {
      kind: 'server';
      host: string;
      port: number;
      secure: boolean;
      login: { user: string; password: string } | null;
    };

/** The syntax of `MAIL_URL`, for error messages and help texts. */
export const MAIL_URL_SYNTAX =
  'smtp://user:password@host:587, smtps://user:password@host:465 or file:<folder>; percent-encode special characters of user and password (/ is %2F, # is %23, % is %25)';

/** Parses `MAIL_URL`, and percent-decodes user and password; null if it has none of the three forms. */
export function parseMailUrl(text: string): MailTarget | null {
  const folder = /^file:(?:\/\/(?=\/))?(.+)$/s.exec(text)?.[1];
  if (folder !== undefined) return { kind: 'folder', folder };
  const url = URL.parse(text);
  if (url === null || url.hostname === '' || !/^\/?$/.test(url.pathname) || url.search || url.hash) return null;
  if (url.protocol !== 'smtp:' && url.protocol !== 'smtps:') return null;
  if ((url.username === '') !== (url.password === '')) return null;
  const secure = url.protocol === 'smtps:';
  try {
    return {
      kind: 'server',
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || (secure ? 465 : 587),
      secure,
      login: url.username
        ? { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
        : null,
    };
  } catch {
    return null;
  }
}

/** Replaces the password with `***`; null for a string in another form, which may contain anything. */
export function maskMailUrl(text: string): string | null {
  const target = parseMailUrl(text);
  if (target === null) return null;
  if (target.kind === 'folder') return text;
  const login = target.login === null ? '' : `${encodeURIComponent(target.login.user)}:***@`;
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  return `${target.secure ? 'smtps' : 'smtp'}://${login}${host}:${target.port}`;
}
