import { join } from 'node:path';
import { servedDocument } from '../../../server/docs/served.ts';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { onBox } from '../actors.ts';
import { PROJECT } from '../cli.ts';
import { startTestServer } from '../http.ts';
import { MAIL_CONFIG } from '../mail/config.ts';
import { giveKeysTo, keyFor } from '../requests.ts';

/** The `METRICS_TOKEN` of the server of {@link startSampleServer}. */
export const METRICS_TOKEN = 'metrics-token-of-the-tests';

/** A fully configured server with the sample profiles behind a trusted proxy on 127.0.0.1, and keys of profile 8. */
export async function startSampleServer() {
  const variables = { TRUSTED_PROXIES: '127.0.0.1', SECURITY_CONTACT: 'security@example.org', METRICS_TOKEN };
  const server = await startTestServer({ variables });
  const keys = {
    both: await keyFor(server.deps, ['1000000/1s']),
    byDefault: await keyFor(server.deps, ['60/1m', '5000/1d']),
    sixty: await keyFor(server.deps, ['60/1m']),
    lookup: await keyFor(server.deps, ['1000000/1s'], ['api.lookup']),
    leaderboard: await keyFor(server.deps, ['1000000/1s'], ['api.leaderboard']),
  };
  const sample = join(PROJECT, 'shared/sample/profiles.jsonl');
  await importProfiles(server.deps, sample, {
    merge: false,
    strict: true,
    by: onBox('test'),
    onKeys: effectsOnKeys(onBox('test'), MAIL_CONFIG),
  });
  giveKeysTo(server.deps, 8);
  return { server, keys, document: servedDocument(server.deps.config) };
}
