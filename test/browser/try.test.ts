import { describe, expect, test } from 'bun:test';
import { serverOn } from '../support/http.ts';
import { prepare } from '../support/keys.ts';
import { freePort } from '../support/network.ts';
import { testClock, testDeps } from '../support/world.ts';
import { hasChromium } from './chromium.ts';
import { AXE, expectUsable, type OpenPage, startBrowser } from './window.ts';

const port = freePort();
const clock = testClock();
const deps = { ...testDeps({ clock, variables: { PUBLIC_URL: `http://docs.example:${port}` } }), clock };
const server = await serverOn(deps, { port });
const secret = await prepare(server.deps);
const address = `${server.deps.config.publicUrl}/docs/try`;

const openPage = (hasChromium ? await startBrowser() : null) as OpenPage;

// The warning is true of frames, which could remove their own attribute; the sandbox of a policy can't be removed.
const SANDBOX_WARNING =
  'console: An iframe which has both allow-scripts and allow-same-origin for its sandbox attribute can escape its sandboxing.';

describe('the page in a browser', () => {
  test.skipIf(!hasChromium)(
    'opens at the operation that its URL names, is accessible, and sends a lookup with a key but shows a curl line without it',
    async () => {
      // On a phone. A wide window has more to render.
      const url = `${address}#/Lookup/getProfileByUid`;
      const { page, requests, troubles } = await openPage('about:blank', { width: 390, colorScheme: 'light' });
      await using _ = await page.addInitScript(AXE);
      await page.goto(url);
      await page.locator('#operations-Lookup-getProfileByUid button', { hasText: 'Try it out' }).waitFor();
      expect(page.url()).toStartWith(address);
      expect(await page.evaluate<string>("getComputedStyle(document.querySelector('.top')).display")).toBe('flex');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      expect(await page.title()).toBe('Try it – API documentation – Profile Lookup');
      await page.locator('button', { hasText: 'Authorize' }).click();
      await page.getByLabel('auth-bearer-value').fill(secret);
      await page.locator('.modal-ux button.authorize').click();
      await page.locator('.modal-ux button', { hasText: 'Close' }).click();
      const operation = page.locator('#operations-Lookup-getProfileByUsername');
      await operation.locator('button.opblock-summary-control').click();
      await operation.locator('button', { hasText: 'Try it out' }).click();
      await operation.locator('input[placeholder=username]').fill('Ada');
      await operation.locator('button', { hasText: 'Execute' }).click();
      const response = operation.locator('.live-responses-table .response .microlight');
      await response.filter({ hasText: '"username": "Ada"' }).waitFor();
      const curl = await operation.locator('.curl-command').textContent();
      expect(curl).toContain('Authorization: Bearer <your key>');
      expect(await page.content()).not.toContain(secret);
      const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])';
      expect(await page.evaluate(kept)).toBe('[{},{},""]');
      // All requests of the window; the page offers only the API's operations.
      const paths = ['/docs/try', '/docs/try/swagger-ui.css', '/docs/try/swagger-ui.js', '/openapi.json'];
      expect(requests.toSorted()).toEqual(
        ['/api/lookup/username/Ada', ...paths].map((path) => server.deps.config.publicUrl + path),
      );
      const offered = await page.locator('.opblock-summary-path').allTextContents();
      expect(offered.length).toBe(9);
      for (const path of offered) {
        expect(path.replaceAll('\u200b', '')).not.toMatch(/^\/(docs|healthz|readyz|metrics|openapi)/);
      }
      expect(troubles.filter((trouble) => trouble !== SANDBOX_WARNING)).toEqual([]);
      // What is ours is accessible. Swagger UI's tables do not fit into the narrowest window.
      await page.evaluate("document.querySelector('#swagger-ui').innerHTML = '<main><h1>API</h1></main>'");
      await expectUsable(page);
      await page.locator('.top').getByRole('link', { name: 'Docs' }).click();
      await page.waitForURL(`${server.deps.config.publicUrl}/docs`);
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    },
  );

  test.skipIf(!hasChromium)(
    'keeps its scripts from reaching the portal by a request, a frame, a form, an image or a new window',
    async () => {
      const { page } = await openPage('about:blank', { width: 390, colorScheme: 'light' });
      // The policy is the same without Swagger UI, which takes seconds to start.
      await page.route('**/swagger-ui.js', (route) => route.abort(), { times: 1 });
      await page.goto(address);
      // A string, because the tests' types have no DOM. Each attempt returns what it has reached.
      const reached = await page.evaluate<Record<string, unknown>>(`(async () => {
        const outcome = (promise) => promise.then(() => 'reached', () => 'refused');
        const element = (name, set) => new Promise((resolve, reject) => {
          const made = Object.assign(document.createElement(name), set);
          made.onload = resolve;
          made.onerror = reject;
          document.body.append(made);
        });
        const seen = new Promise((resolve) => document.addEventListener('securitypolicyviolation', function see({ effectiveDirective }) {
          if (effectiveDirective === 'frame-src') resolve('refused');
        }));
        const found = {};
        for (const path of ['/developers', '/manage/v1/me', '/healthz', '/']) {
          found['fetch ' + path] = await outcome(fetch(path, { credentials: 'include' }));
          found['no-cors ' + path] = await outcome(fetch(path, { mode: 'no-cors', method: 'POST' }));
          found['window ' + path] = window.open(path) === null ? 'refused' : 'reached';
          found['image ' + path] = await outcome(element('img', { src: path }));
          found['script ' + path] = await outcome(element('script', { src: path }));
        }
        found.beacon = navigator.sendBeacon('/developers', 'x') ? 'queued' : 'refused';
        const frame = Object.assign(document.createElement('iframe'), { src: '/developers' });
        document.body.append(frame);
        found.frame = await seen;
        const form = Object.assign(document.createElement('form'), { action: '/developers/sign-in', method: 'post' });
        document.body.append(form);
        form.submit();
        found.worker = await outcome(new Promise((resolve, reject) => {
          try { const made = new Worker('/docs/try/swagger-ui.js'); made.onmessage = resolve; made.onerror = reject; } catch (error) { reject(error); }
        }));
        const socket = new Promise((resolve, reject) => {
          try { const made = new WebSocket('ws://' + location.host + '/developers'); made.onopen = resolve; made.onerror = reject; } catch (error) { reject(error); }
        });
        found.socket = await outcome(socket);
        return found;
      })()`);
      const { beacon, ...others } = reached;
      expect([...new Set(Object.values(others))]).toEqual(['refused']);
      expect(['queued', 'refused']).toContain(beacon as string);
      // The server would have logged what a script can't see: it received only the page's own requests.
      expect(page.url()).toBe(address);
      const arrived = server.log.map(({ route }) => route);
      expect(arrived.filter((route) => !String(route).match(/^\/(docs|openapi|api)/))).toEqual([]);
    },
  );
});
