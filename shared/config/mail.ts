import { isMailAddress } from '../mail/address.ts';
import { MAIL_URL_SYNTAX, type MailTarget, parseMailUrl } from '../mail/target.ts';
import { badVariable } from './network.ts';

// The variables about mail and addresses. Each check throws `bad_config`, naming its variable.

/** Where mail goes; `name` is the variable that the text came by. */
export function checkMail(text: string | null, name: string): MailTarget | null {
  if (text === null) return null;
  const target = parseMailUrl(text);
  if (target === null) {
    throw badVariable(name, `must ${name.endsWith('_FILE') ? 'name a file that holds' : 'be'} ${MAIL_URL_SYNTAX}`);
  }
  return target;
}

/** One plain address. */
export function checkAddress(name: string, text: string | null): string | null {
  if (text !== null && !isMailAddress(text)) throw badVariable(name, 'must be one plain e-mail address');
  return text;
}

/** Several plain addresses, separated by commas, each once; none for an empty text. */
export function checkAddresses(name: string, text: string): string[] {
  if (text.trim() === '') return [];
  const addresses = text.split(',').map((part) => part.trim());
  if (!addresses.every(isMailAddress)) {
    throw badVariable(name, 'must be one plain e-mail address, or several separated by commas');
  }
  return [...new Set(addresses)];
}

/** Whom owners ask: an e-mail address as it is, or a web address. */
export function checkAsked(text: string | null): string | null {
  if (text === null || isMailAddress(text)) return text;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw badVariable('CONTACT', 'must be an e-mail address or a http or https address');
  }
  return url.href;
}

/** A sender, which a mail server needs. */
export function checkSender(from: string | null, mail: MailTarget | null): string | null {
  if (from === null && mail?.kind === 'server') {
    throw badVariable('MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
  }
  return from;
}

/** Where faults of security are told, as a URL. */
export function checkContact(text: string | null): string | null {
  if (text === null) return null;
  if (isMailAddress(text)) return `mailto:${text}`;
  const url = URL.parse(text);
  if (url === null || !/^(https|mailto|tel):$/.test(url.protocol)) {
    throw badVariable('SECURITY_CONTACT', 'must be an e-mail address or a https, mailto or tel address');
  }
  return url.href;
}
