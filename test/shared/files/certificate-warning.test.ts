import { expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { DAY_MS } from '../../../shared/clock.ts';
import { configWarnings } from '../../../shared/config/check.ts';
import { readStatus } from '../../../shared/files/status.ts';
import { testCertificate } from '../../support/network.ts';
import { testClock, testDeps } from '../../support/world.ts';

test('the server and status warn about a certificate from 14 days before it expires', () => {
  const { certFile, keyFile, cert } = testCertificate();
  const endMs = Date.parse(new X509Certificate(cert).validTo);
  const clock = testClock(endMs - 14 * DAY_MS);
  const deps = testDeps({ clock, variables: { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } });
  const warnings = () =>
    [configWarnings(deps.config, clock.nowMs()), readStatus(deps).warnings].map((all) =>
      all.filter((text) => text.includes('certificate')),
    );
  expect(warnings()).toEqual([[], []]);
  for (const [ms, when] of [
    [1, 'expires in 13 days'],
    [14 * DAY_MS, 'has expired'],
  ] as const) {
    clock.advance(ms);
    const sentence = `The certificate in ${certFile} ${when}.`;
    expect(warnings()).toEqual([[sentence], [sentence]]);
  }
});
