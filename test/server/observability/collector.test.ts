import { expect, test } from 'bun:test';
import {
  collectAfterLargeText,
  collectAfterRequest,
  createCollector,
} from '../../../server/observability/collector.ts';

/** Creates garbage; the stack holds no reference to it once this function has returned. */
function litter(): WeakRef<object>[] {
  return Array.from({ length: 1_000 }, () => new WeakRef({}));
}

test('garbage left by requests is collected after some thousand of them, however little it is', async () => {
  const collector = createCollector();
  const countLeft = async () => {
    const left = litter();
    // Objects behind a WeakRef survive the turn of the event loop in which they were created or dereferenced.
    await new Promise((resolve) => setImmediate(resolve));
    for (let request = 0; request < 10_000; request++) collectAfterRequest(collector);
    return left.filter((one) => one.deref() !== undefined).length;
  };
  // A collection of JavaScriptCore's own that happens before that turn ends makes them old, and only younger ones are collected.
  const counts = [await countLeft(), await countLeft(), await countLeft()];
  expect(Math.min(...counts)).toBeLessThan(100);
});

test('large texts are freed once there are many of them', async () => {
  const collector = createCollector();
  const left = litter();
  await new Promise((resolve) => setImmediate(resolve));
  for (let text = 0; text < 8; text++) collectAfterLargeText(collector, 1_048_576);
  expect(left.filter((one) => one.deref() !== undefined).length).toBeLessThan(100);
});
