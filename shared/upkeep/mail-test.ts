import { isoTime } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { AppError } from '../errors.ts';
import { isMailAddress } from '../mail/address.ts';
import { testMail } from '../mail/texts/other-mails.ts';

/**
 * Sends a test mail like a mail with a secret. Throws `usage` if `to` is not an e-mail address, `refused` if `MAIL_URL`
 * is not set or the mail was refused permanently, and `try_later` if it was refused temporarily or its acceptance is
 * unknown.
 */
export async function tryMail(deps: Pick<Deps, 'mailer' | 'clock' | 'config'>, to: string): Promise<void> {
  if (!isMailAddress(to)) throw new AppError('usage', 'The address must be one plain e-mail address.');
  const mailer = await deps.mailer();
  if (mailer === null) {
    throw new AppError('refused', 'MAIL_URL is not set; set it to smtp://user:password@host:587, or to file:<folder>.');
  }
  const sentAt = isoTime(deps.clock.nowMs());
  const { publicName, publicUrl, contact } = deps.config;
  const delivery = await mailer.send({ ...testMail({ sentAt, publicName, publicUrl, contact }), to });
  if (delivery.outcome === 'accepted') return;
  const isPermanent = delivery.outcome === 'refused' && delivery.permanent;
  throw new AppError(isPermanent ? 'refused' : 'try_later', delivery.reason);
}
