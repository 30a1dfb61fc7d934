import { shellWord } from '../../text.ts';

/** The name of the source in a sentence, and its path for a command line. */
type Source = { name: string; file: string | null };

const LF = 0x0a;

const COMPRESSIONS = [
  { name: 'gzip', mark: [0x1f, 0x8b], command: 'zcat' },
  { name: 'zstd', mark: [0x28, 0xb5, 0x2f, 0xfd], command: 'zstdcat' },
  { name: 'xz', mark: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], command: 'xzcat' },
  { name: 'bzip2', mark: [0x42, 0x5a, 0x68], command: 'bzcat' },
];

/**
 * Why the beginning of a file can't be JSON Lines, as a sentence with the command that converts it to JSON Lines; null
 * if it can. `file` is its path, null for a stream.
 */
export function formatFault(head: Uint8Array, file: string | null): string | null {
  const source = { name: file ?? 'The input', file };
  const packed = COMPRESSIONS.find(({ mark }) => mark.every((byte, index) => head[index] === byte));
  if (packed !== undefined) return faultText(source, `is compressed with ${packed.name}`, packed.command);
  const encoding = utf16Of(head);
  if (encoding !== null) {
    return faultText(source, 'is UTF-16, and JSON Lines are UTF-8', `iconv -f ${encoding} -t UTF-8`);
  }
  const end = head.lastIndexOf(LF);
  // A truncated line proves nothing, unless it is the only one.
  const text = new TextDecoder().decode(end === -1 ? head : head.subarray(0, end));
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const [first = ''] = lines;
  if (/^\s*\[/.test(first)) return faultText(source, 'is a JSON array, not JSON Lines', "jq -c '.[]'");
  // Until its line end, the first line may continue.
  if (end !== -1 && first.trim() === '{')
    return faultText(source, 'is JSON with line breaks inside, not JSON Lines', 'jq -c .');
  const separator = lines.some((line) => line.trimStart().startsWith('{')) ? undefined : /[\t;,]/.exec(first)?.[0];
  if (separator === undefined) return null;
  const separated = separator === ',' ? '' : separator === '\t' ? ' --ifs tab' : " --ifs ';'";
  return faultText(source, 'is CSV, not JSON Lines', `mlr --icsv${separated} --ojsonl cat`);
}

function faultText({ name, file }: Source, what: string, command: string): string {
  const words = file === null ? command : `${command} ${shellWord(file)}`;
  return `${name} ${what}. Try: ${words} | profilectl profiles import -`;
}

/**
 * The encoding's name for iconv, or null. Recognised by the byte order mark, or by the zero byte in each ASCII
 * character.
 */
function utf16Of(head: Uint8Array): string | null {
  const [a, b] = head;
  if ((a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff)) return 'UTF-16';
  if (a !== undefined && a !== 0 && b === 0) return 'UTF-16LE';
  return a === 0 && b !== undefined && b !== 0 ? 'UTF-16BE' : null;
}
