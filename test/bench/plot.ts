import { goalText, median, type Results, ratioText, timesGoal } from './results.ts';

const WIDTH = 960;
const ROW = 26;
const TOP = 64;
const BOTTOM = 40;
/** Between the names on the left and the figures on the right. */
const PLOT = { left: 500, right: 820 };
/** Times the goal, from edge to edge on a logarithmic scale. */
const SCALE = { least: 0.125, most: 8 };

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 14px }
  .muted { fill: #6e7781 }
  .paper { fill: #ffffff }
  .grid { stroke: #d8dee4 }
  .goal { stroke: #0969da; stroke-width: 1.5 }
  .spread { stroke-width: 2; stroke: #1a7f37 }
  .dot { fill: #1a7f37 }
  .missed .dot { fill: #bc4c00 }
  .missed .spread { stroke: #bc4c00 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .muted { fill: #8d96a0 }
    .paper { fill: #0d1117 }
    .grid { stroke: #30363d }
    .goal { stroke: #58a6ff }
    .spread { stroke: #3fb950 }
    .dot { fill: #3fb950 }
    .missed .dot { fill: #f0883e }
    .missed .spread { stroke: #f0883e }
  }`;

/**
 * The results as a picture (SVG): a row for each, its median as a dot and its rounds as a line, in multiples of its goal, so
 * that one line is everybody's goal and right of it is better.
 */
export function plot({ machine, results }: Results): string {
  const height = TOP + results.length * ROW + BOTTOM;
  const bottom = height - BOTTOM;
  const grid = [0.125, 0.25, 0.5, 1, 2, 4, 8].map((times) => {
    const at = place(times);
    const line = `<line class="${times === 1 ? 'goal' : 'grid'}" x1="${at}" y1="${TOP - 8}" x2="${at}" y2="${bottom}"/>`;
    const label = times === 1 ? 'goal' : times < 1 ? `1/${1 / times}` : `${times}×`;
    return `${line}<text class="muted" x="${at}" y="${bottom + 16}" text-anchor="middle">${label}</text>`;
  });
  const rows = results.map(({ what, goal, ratios }, index) => {
    const y = TOP + index * ROW + ROW / 2;
    const middle = median(ratios);
    const [from, to] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => place(timesGoal(goal, ratio)));
    const isMissed = timesGoal(goal, middle) < 1;
    return `<g${isMissed ? ' class="missed"' : ''}><text x="${PLOT.left - 14}" y="${y + 4}" text-anchor="end">${escapeXml(what)}</text>
<line class="spread" x1="${from}" y1="${y}" x2="${to}" y2="${y}"/><circle class="dot" cx="${place(timesGoal(goal, middle))}" cy="${y}" r="4.5"/>
<text x="${PLOT.right + 58}" y="${y + 4}" text-anchor="end">${ratioText(middle)}</text><text class="muted" x="${PLOT.right + 70}" y="${y + 4}">${goalText(goal)}</text></g>`;
  });
  const caption = `${machine.cores} cores, ${machine.cpu}, Bun ${machine.bun}; medians and spreads, logarithmic`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="How each case stands to its goal">
<style>${STYLE}
</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="6"/>
<text class="title" x="16" y="24">How each case stands to its goal</text><text class="muted" x="16" y="42">${escapeXml(caption)}</text>
<text class="muted" x="${PLOT.right + 58}" y="42" text-anchor="end">ratio</text><text class="muted" x="${PLOT.right + 70}" y="42">goal</text>
${grid.join('\n')}
${rows.join('\n')}
</svg>
`;
}

/** Where so many times the goal stand, from the left. */
function place(times: number): number {
  const inside = Math.min(SCALE.most, Math.max(SCALE.least, times));
  const share = Math.log(inside / SCALE.least) / Math.log(SCALE.most / SCALE.least);
  return Math.round(PLOT.left + share * (PLOT.right - PLOT.left));
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
