/** What an ask for a sign-in mail is counted under: texts that are equal where the counts are shared. */
export type CountedAsk = { pair: string; network: string; wideNetwork: string };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * A naive counter of asks for sign-in mails, as the specification says the limits: it keeps every ask that was admitted, and
 * looks through all of them. Times that lie ahead of the clock count like those behind it; what is a
 * day away when an ask is admitted is forgotten, unless the clock has jumped within the last ten minutes.
 */
export function createMailCounter() {
  let admitted: (CountedAsk & { at: number })[] = [];
  const room = (ask: CountedAsk, under: keyof CountedAsk, most: number, windowMs: number, now: number) =>
    admitted.filter((one) => one[under] === ask[under] && Math.abs(now - one.at) < windowMs).length < most;
  return {
    /** Whether the ask is admitted; counts it if so. */
    ask: (ask: CountedAsk, now: number, isSettled: boolean): boolean => {
      const isAdmitted =
        room(ask, 'pair', 1, MINUTE_MS, now) &&
        room(ask, 'pair', 5, HOUR_MS, now) &&
        room(ask, 'pair', 10, 24 * HOUR_MS, now) &&
        room(ask, 'network', 10, HOUR_MS, now) &&
        room(ask, 'wideNetwork', 100, HOUR_MS, now);
      if (isAdmitted && isSettled) {
        admitted = admitted.filter(({ at }) => at > now - 24 * HOUR_MS && at <= now + 24 * HOUR_MS);
      }
      if (isAdmitted) admitted.push({ ...ask, at: now });
      return isAdmitted;
    },
  };
}
