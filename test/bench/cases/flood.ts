import { newIdentifier, newSecret } from '../../../shared/keys/secret.ts';
import type { Random } from '../../../shared/random.ts';
import type { Bench } from '../bench.ts';
import { generate } from '../database.ts';
import { type Load, load, type Question, traffic } from '../load.ts';
import { againstBare, alternate, checksOf, figuresOf, loading } from '../measure.ts';
import { hotIds, lookup, many } from '../questions.ts';
import { brief, countText, type Result } from '../results.ts';
import { startOurs } from '../servers.ts';

// A flood of requests with invalid keys, each from a different IP address.

const BEHIND_PROXY = { TRUSTED_PROXIES: '127.0.0.1' };

const anyBytes: Random = (length) => crypto.getRandomValues(new Uint8Array(length));

/** The most expensive kind of invalid key: well-formed, with a correct checksum, and unknown. */
function stranger(at: number): Question {
  const address = `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`;
  return {
    path: '/api/lookup/username/anyone',
    headers: {
      Authorization: `Bearer ${newSecret(newIdentifier(anyBytes), anyBytes)}`,
      'X-Forwarded-For': address,
      'X-Forwarded-Proto': 'https',
    },
    isRight: ({ status, headers, body }) =>
      status === 401 &&
      headers.get('www-authenticate') === 'Bearer realm="profile-lookup", error="invalid_token"' &&
      body === '{"error":"This API key is not valid."}',
  };
}

/** Enough addresses that none reaches its 31st failure within a minute, which would be a 429. */
const ADDRESSES = 250_000;

/** Requests with well-formed but unknown keys, each from a different IP address. */
export function floodTraffic(bench: Bench) {
  return traffic(bench, many(ADDRESSES, stranger), { isRefused: true });
}

/** The flood alone, compared with bare. */
export async function flood(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const about = {
    name: 'flood',
    what: `invalid keys from ${countText(ADDRESSES)} addresses ÷ bare`,
  };
  return [await againstBare(bench, path, about, () => floodTraffic(bench), BEHIND_PROXY)];
}

// Two loads share the client's core.
const spins = false;

/** The throughput that valid clients keep during the flood, compared with the share that the flood leaves. */
export async function floodBeside(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const forwarded = { 'X-Forwarded-For': '192.0.2.7', 'X-Forwarded-Proto': 'https' };
  const valid = hotIds(bench.profiles).map((id) => {
    const question = lookup(id);
    return { ...question, headers: { ...question.headers, ...forwarded } };
  });
  const [good, bad] = [traffic(bench, valid), floodTraffic(bench)];
  const ours = await startOurs(bench, path, BEHIND_PROXY);
  const loads = await alternate(bench, {
    alone: async (turn) => [await loading(bench, ours, good, { isOurs: true, spins })(turn)],
    together: async ({ seconds, seed }) =>
      Promise.all([good, bad].map((what) => load(bench, ours, what, { seconds, seed, isOurs: true, spins }))),
  });
  await ours.stop();
  const [alone, beside, strangers] = [loads.alone.map(first), loads.together.map(first), loads.together.map(second)];
  const shares = beside.map((valid, round) => {
    const invalid = (strangers[round] as Load).perSecond;
    return invalid / (invalid + valid.perSecond);
  });
  const ratios = beside.map((valid, round) => {
    return brief(valid.perSecond / (alone[round] as Load).perSecond / (1 - (shares[round] as number)));
  });
  return [
    {
      name: 'flood-beside',
      what: 'throughput that valid clients keep during that flood ÷ the share it leaves',
      goal: { min: 0.9 },
      ratios,
      figures: { share: brief(Math.max(...shares)), ...figuresOf({ alone, beside, strangers }, false) },
      ...checksOf(alone, beside, strangers),
    },
  ];
}

const first = (loads: readonly Load[]) => loads[0] as Load;
const second = (loads: readonly Load[]) => loads[1] as Load;
