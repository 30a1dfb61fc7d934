/** The keys under which a request for a sign-in mail is counted. */
export type CountedAsk = { pair: string; network: string; wideNetwork: string };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A naive counter of admitted requests for sign-in mails. Times ahead of the clock count like those behind it. */
export function createMailCounter() {
  const admitted: (CountedAsk & { at: number })[] = [];
  const room = (ask: CountedAsk, under: keyof CountedAsk, max: number, windowMs: number, now: number) =>
    admitted.filter((one) => one[under] === ask[under] && Math.abs(now - one.at) < windowMs).length < max;
  return {
    /** Whether the request is admitted; counts it if so. */
    ask: (ask: CountedAsk, now: number): boolean => {
      const isAdmitted =
        room(ask, 'pair', 1, MINUTE_MS, now) &&
        room(ask, 'pair', 5, HOUR_MS, now) &&
        room(ask, 'pair', 10, 24 * HOUR_MS, now) &&
        room(ask, 'network', 10, HOUR_MS, now) &&
        room(ask, 'wideNetwork', 100, HOUR_MS, now);
      if (isAdmitted) admitted.push({ ...ask, at: now });
      return isAdmitted;
    },
  };
}
