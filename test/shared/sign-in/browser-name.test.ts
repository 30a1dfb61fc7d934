import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { browserName } from '../../../shared/sign-in/sessions.ts';
import { ANY_CHARACTER } from '../../support/input-values.ts';

const MOZILLA = 'Mozilla/5.0';
const KHTML = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const IOS = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

test('browsers have their common names', () => {
  const agents = {
    [`${MOZILLA} (X11; Linux x86_64) ${KHTML} Chrome/139.0.0.0 Safari/537.36`]: 'Chrome on Linux',
    [`${MOZILLA} (X11; Linux x86_64) ${KHTML} HeadlessChrome/139.0.0.0 Safari/537.36`]: 'Chrome on Linux',
    [`${MOZILLA} (X11; CrOS x86_64 14541.0.0) ${KHTML} Chrome/139.0.0.0 Safari/537.36`]: 'Chrome on ChromeOS',
    [`${MOZILLA} (Linux; Android 10; K) ${KHTML} Chrome/139.0.0.0 Mobile Safari/537.36`]: 'Chrome on Android',
    [`${MOZILLA} (iPhone; CPU iPhone OS 18_6 like Mac OS X) ${IOS} CriOS/139.0.7258.76 Mobile/15E148 Safari/604.1`]:
      'Chrome on iPhone',
    [`${MOZILLA} (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0`]:
      'Edge on Windows',
    [`${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${KHTML} Chrome/138.0.0.0 Safari/537.36 OPR/122.0.0.0`]:
      'Opera on macOS',
    [`${MOZILLA} (Linux; Android 10; K) ${KHTML} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`]:
      'Samsung Internet on Android',
    [`${MOZILLA} (X11; Ubuntu; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0`]: 'Firefox on Linux',
    [`${MOZILLA} (iPad; CPU OS 18_6 like Mac OS X) ${IOS} FxiOS/142.0 Mobile/15E148 Safari/605.1.15`]:
      'Firefox on iPad',
    [`${MOZILLA} (Macintosh; Intel Mac OS X 10_15_7) ${IOS} Version/18.6 Safari/605.1.15`]: 'Safari on macOS',
    [`${MOZILLA} (X11; Linux x86_64)`]: 'A browser on Linux',
    'curl/8.15.0': 'A browser',
    '': 'A browser',
  };
  for (const [agent, name] of Object.entries(agents)) expect([agent, browserName(agent)]).toEqual([agent, name]);
});

test('the name is one of ours, whatever User-Agent was sent', () => {
  const names =
    /^(A browser|Edge|Opera|Samsung Internet|Vivaldi|DuckDuckGo|Firefox|Chrome|Safari)( on (iPhone|iPad|Android|ChromeOS|Windows|macOS|Linux))?$/;
  for (const agent of [
    '<script>mark()</script> Chrome/1 Linux',
    'Chrome/\u202e‮ Windows\u0000',
    'Your bank, call +1 555 Firefox/9',
    'iPhone'.repeat(100_000),
    '\ud800Chrome/',
  ])
    expect(browserName(agent)).toMatch(names);
  fc.assert(fc.property(fc.string({ unit: ANY_CHARACTER }), (agent) => names.test(browserName(agent))));
});
