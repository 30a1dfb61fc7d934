import type { AdminView, PasskeyView } from '../../shared/admins/admins.ts';
import type { Invitation } from '../../shared/passkeys/enrolments.ts';
import { shellWord } from '../../shared/text.ts';
import type { AccessContext } from '../access.ts';
import { factsText } from '../keys/print.ts';
import { columnsOf, notice, print, printJson, table } from '../terminal/output.ts';

/** Prints the link, or the invitation as JSON, to stdout, and what to do with it to stderr. */
export function printInvitation(
  { json, access }: AccessContext,
  invitation: Invitation & { endedPasskeys?: number },
): void {
  const { name, address, expiresAt } = invitation;
  notice(
    `${name} can register a passkey with this link, once, until ${expiresAt}. Send it over a channel that only they can read. Then run "profilectl admins confirm ${shellWord(name)}", which shows from where the passkey was registered and confirms it.`,
  );
  if (!access.config.developerPlatform) {
    notice('DEVELOPER_PLATFORM is off, so this link does not work; unset it and restart the server.');
  }
  if (json) printJson(invitation);
  else print(address);
}

/** A passkey as shown before it is confirmed, one fact per line. */
export function passkeyText(admin: string, passkey: PasskeyView): string {
  const facts: [string, string][] = [
    ['Admin', admin],
    ['Passkey', passkey.name],
    ['Registered', passkey.registeredAt],
    ['From', passkey.registeredFrom],
    ['Browser', passkey.registeredBy || '–'],
  ];
  return factsText(facts, columnsOf(process.stderr));
}

/** Admins as a table. */
export function adminsText(admins: readonly AdminView[]): string {
  if (admins.length === 0) return 'No admins.';
  const heads = ['Name', 'State', 'Passkeys', 'Last used', 'Added'];
  return table(
    heads,
    admins.map(({ name, state, addedAt, invitedUntil, passkeys }) => [
      name,
      state === 'invited' ? `invited until ${invitedUntil}` : state,
      passkeys.map((one) => (one.confirmedAt === null ? `${one.name} (to be confirmed)` : one.name)).join(', '),
      passkeys
        .flatMap(({ lastUsedAt }) => lastUsedAt ?? [])
        .sort()
        .at(-1) ?? 'never',
      addedAt,
    ]),
    { omitted: ['Added', 'Last used', 'Passkeys'], truncated: ['Name', 'Passkeys'] },
  );
}
