import { expect, test } from 'bun:test';
import { printFamilies } from '../../../server/observability/metrics.ts';

test('metrics are printed in Prometheus’ text format, whatever characters a label has', () => {
  const text = printFamilies([
    { name: 'a_total', help: 'Help.', type: 'counter', samples: [[{}, 0.5]] },
    { name: 'b', help: 'More.', type: 'gauge', samples: [] },
    {
      name: 'c_seconds',
      help: 'Time.',
      type: 'histogram',
      samples: [
        [{ le: '+Inf', route: 'a"\\\n' }, 2, '_bucket'],
        [{ status: 200 }, 1e-7, '_sum'],
      ],
    },
  ]);
  expect(text).toBe(`# HELP a_total Help.
# TYPE a_total counter
a_total 0.5

# HELP b More.
# TYPE b gauge

# HELP c_seconds Time.
# TYPE c_seconds histogram
c_seconds_bucket{le="+Inf",route="a\\"\\\\\\n"} 2
c_seconds_sum{status="200"} 1e-7
`);
});
