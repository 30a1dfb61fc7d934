import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A port of 127.0.0.1 for a server that starts later, but whose URL is needed before. It is outside the default ephemeral ranges
 * of Linux and macOS, so the system assigns it neither to a test that asks for any port, nor to a connection.
 */
export function freePort(): number {
  const port = randomInt(10_000, 32_000);
  try {
    Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
    return port;
  } catch {
    return freePort();
  }
}

const FOLDER = join(import.meta.dir, 'certificates');

/** The certificate of the authority that signed the test certificates, as PEM text. */
export const TEST_CA = readFileSync(join(FOLDER, 'ca.pem'), 'utf8');

/**
 * A test certificate and its key, as PEM text and as files. `localhost` is valid for localhost, 127.0.0.1 and ::1;
 * `elsewhere` only for mail.example.org. Both are valid from 2020 to 2120.
 */
export function testCertificate(name: 'localhost' | 'elsewhere' = 'localhost') {
  const certFile = join(FOLDER, `${name}.pem`);
  const keyFile = join(FOLDER, `${name}.key`);
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}
